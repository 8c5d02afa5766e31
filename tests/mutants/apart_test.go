package mutants

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// With -apart the mutants of model/bounded that a property calls are asked, beside the property, at the steps
// of the model with each mistake of tests/tla/mutants, and of the model as it is. A mutant is noticed if it
// misses a mistake at a step where the property fails, or fails at a step of the right model.

const (
	judges     = "tests/tla/mutants"
	activating = `package mutants

import "gaugeblock/model/bounded"

func init() { activate, reached = bounded.ActivateMutant, bounded.MutantsReached }
`
)

// told is what is known of the mutants, by number.
type told struct {
	sync.Mutex
	called, stronger map[int]bool
	by               map[int]string
}

// tellApart asks the mutants, in as many configurations at a time as there are workers.
func (b *bench) tellApart() (r result, err error) {
	if err := b.build.tests([]string{judges}, false); err != nil {
		return r, err
	}
	out, err := b.askIn("list", "")
	if *asked != "" {
		out, err = os.ReadFile(*asked)
	}
	if err != nil {
		return r, fmt.Errorf("%w\n%s", err, out)
	}
	t := &told{called: map[int]bool{}, stronger: map[int]bool{}, by: map[int]string{}}
	all := strings.Split(strings.TrimSpace(string(out)), "\n")
	began := time.Now()
	inParallel(b.workers, len(all), func(i int) {
		if *within > 0 && time.Since(began) > *within {
			fmt.Println("left out:", all[i])
			return
		}
		for again := true; again; {
			again = b.askAll(all[i], i, t)
		}
	})
	reasons := map[bool]string{true: "at least as strong: it holds in the right model, and fails at more steps of others"}
	for _, number := range b.order {
		m := b.mutants[number]
		if t.called[number] {
			r.count(m, t.by[number], cmp.Or(reasonOf(b.groups, m), reasons[t.stronger[number]]), "SURVIVES")
		}
	}
	return r, nil
}

// askAll asks in one configuration, and reports whether it ended at a mutant that does not end.
func (b *bench) askAll(what string, i int, t *told) (again bool) {
	file := filepath.Join(b.dir, fmt.Sprintf("told%d", i))
	t.Lock()
	var known bytes.Buffer
	for number := range t.by {
		fmt.Fprintln(&known, number)
	}
	t.Unlock()
	err := os.WriteFile(file, known.Bytes(), 0o644)
	if err == nil {
		var out []byte
		out, err = b.askIn(what, file)
		t.add(what, out)
		exit, is := err.(*exec.ExitError)
		if is && exit.ExitCode() == 2 && bytes.Contains(out, []byte("(does not end)")) {
			return true
		}
		if err != nil {
			err = fmt.Errorf("%w: %s", err, firstFailure(out))
		}
	}
	if err != nil {
		fmt.Printf("%s ends: %v\n", what, err)
	}
	return false
}

// add adds what a process has told: lines of a word, the number of a mutant, and the property.
func (t *told) add(what string, out []byte) {
	t.Lock()
	defer t.Unlock()
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		words := strings.SplitN(lines.Text(), " ", 3)
		if len(words) < 2 {
			continue
		}
		number, err := strconv.Atoi(words[1])
		if err != nil {
			continue
		}
		switch words[0] {
		case "called":
			t.called[number] = true
		case "stronger":
			t.stronger[number] = true
		case "fails", "misses":
			if t.by[number] == "" {
				t.by[number] = strings.Join(append(words[:1], words[2:]...), " ") + " in " + what
			}
		}
	}
}

// askIn runs the judge.
func (b *bench) askIn(what, file string) ([]byte, error) {
	c := exec.Command("sh", "-c", `ulimit -t 60; exec "$0"`, b.binary(judges))
	c.Dir = filepath.Join(b.root, filepath.FromSlash(judges))
	c.Env = append(os.Environ(), "GOMEMLIMIT=2GiB", "GAUGEBLOCK_APART="+what, "GAUGEBLOCK_TOLD="+file,
		fmt.Sprintf("GOMAXPROCS=%d", max(2, runtime.NumCPU()/b.workers)))
	if number, is := strings.CutPrefix(what, "mutant "); is {
		number, _, _ = strings.Cut(number, " ")
		c.Env = append(c.Env, variable+"="+number)
	}
	if mistake, is := strings.CutPrefix(what, "mistake "); is {
		c.Env = append(c.Env, "GAUGEBLOCK_MISTAKE="+mistake)
	}
	return c.CombinedOutput()
}
