package torch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/internal/allrows"
	"gaugeblock/internal/race"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	binary "gaugeblock/tools/torch/binary"
	"gaugeblock/tools/torch/wheel"
	"gaugeblock/upstream"
)

// The deviations on PyTorch's own allocator. A file of testdata/rows has programs, each with the
// deviation that it shows: "row:" and its ID. Below a line of a program stands what both answered,
// or what each did. A PyTorch that is mended answers otherwise and turns the test red. `go test
// ./tools/torch -rewrite` writes the answers; check the difference. They are those of 2.11, or, of
// a program that is not for it, of the first release that it is for; TORCH chooses the release. In
// another one only that the two differ is looked at, as in TestRowsOfReleases.
//
// What a line can say stands in stage_commands_test.go and stage_views_test.go. On PyTorch's
// allocator each program is performed by a process of its own, which some of them end.

func TestRowsOfOrder(t *testing.T)       { demonstrate(t) }
func TestRowsOfMisuse(t *testing.T)      { demonstrate(t) }
func TestRowsOfSettings(t *testing.T)    { demonstrate(t) }
func TestRowsOfStreams(t *testing.T)     { demonstrate(t) }
func TestRowsOfCaptures(t *testing.T)    { demonstrate(t) }
func TestRowsOfPools(t *testing.T)       { demonstrate(t) }
func TestRowsOfCheckpoints(t *testing.T) { demonstrate(t) }
func TestRowsOfOversize(t *testing.T)    { demonstrate(t) }
func TestRowsOfExpandable(t *testing.T)  { demonstrate(t) }
func TestRowsOfFailures(t *testing.T)    { demonstrate(t) }
func TestRowsOfSharing(t *testing.T)     { demonstrate(t) }
func TestRowsOfHistory(t *testing.T)     { demonstrate(t) }
func TestRowsOfWeaknesses(t *testing.T)  { demonstrate(t) }

// rowTests are the tests, with their files.
var rowTests = map[string]string{
	"TestRowsOfOrder":       "order",
	"TestRowsOfMisuse":      "misuse",
	"TestRowsOfSettings":    "settings",
	"TestRowsOfStreams":     "streams",
	"TestRowsOfCaptures":    "captures",
	"TestRowsOfPools":       "pools",
	"TestRowsOfCheckpoints": "checkpoints",
	"TestRowsOfOversize":    "oversize",
	"TestRowsOfExpandable":  "expandable",
	"TestRowsOfFailures":    "failures",
	"TestRowsOfSharing":     "sharing",
	"TestRowsOfHistory":     "history",
	"TestRowsOfWeaknesses":  "weaknesses",
}

const rowFiles = "testdata/rows"

// demonstrate performs the programs of the test's file on both allocators.
func demonstrate(t *testing.T) {
	o := built(t)
	datadriven.RunTest(t, filepath.Join(rowFiles, rowTests[t.Name()]), func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd != "show" {
			t.Fatalf("%s: a program begins with show", d.Pos)
		}
		p := parseProgram(d.Input)
		release := o.Release().Name
		if !p.isFor(release) {
			return d.Expected
		}
		ours, err := p.perform(release)
		if err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}
		theirs, err := apart(o, []program{p})
		if err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}
		answers := p.beside(ours, theirs[0])
		if !p.hasAnswersOf(release) {
			p.differAsTheyShould(t, release, answers)
			return d.Expected
		}
		return answers
	})
}

// program is one of the file.
type program struct {
	row     string
	from    string // the first release that it is for; "": all
	until   string // the last one
	lines   []string
	answers string // in the file
}

func parseProgram(input string) (p program) {
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, ": ")
		switch word {
		case "row":
			p.row = rest
		case "from":
			p.from = rest
		case "until":
			p.until = rest
		case "":
		default:
			p.lines = append(p.lines, line)
		}
	}
	return p
}

// perform performs the program on the reference, by the rules of a release, and returns an answer a
// line.
func (p *program) perform(release string) (answers []string, err error) {
	s := &stage{factory: reference.New, release: release}
	for _, line := range p.lines {
		answer, err := s.perform(line)
		if err != nil {
			return answers, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// isFor reports whether the program is for a release, whose settings it has.
func (p *program) isFor(release string) bool {
	_, settings, _ := strings.Cut(p.lines[0], "settings=")
	settings, _, _ = strings.Cut(settings, " ")
	return within(release, p.from, p.until) && knownSettings(settings, rulesOf(&trace.Header{Release: release}).Settings) == settings
}

// hasAnswersOf reports whether the file's answers are those of a release that the program is for.
func (p *program) hasAnswersOf(release string) bool {
	return release == "2.11" || release == p.from && !p.isFor("2.11")
}

// within reports whether a release is not older than one and not newer than another; "" is any.
func within(release, from, until string) bool {
	place := func(name string) int {
		return slices.IndexFunc(upstream.Releases(), func(r upstream.Release) bool { return r.Name == name })
	}
	return (from == "" || place(release) >= place(from)) && (until == "" || place(release) <= place(until))
}

// beside writes down what the two answered.
func (p *program) beside(ours, theirs []string) string {
	var out strings.Builder
	say := func(who, answer string) {
		if answer == "" {
			answer = "nothing"
		}
		fmt.Fprintf(&out, "  %-10s %s\n", who, strings.ReplaceAll(answer, "\n", "\n             "))
	}
	for i, line := range p.lines {
		if i >= len(theirs) {
			break // the process has ended
		}
		fmt.Fprintln(&out, line)
		switch {
		case ours[i] != theirs[i]:
			say("reference:", ours[i])
			say("PyTorch:", theirs[i])
		case ours[i] != "":
			say("both:", ours[i])
		}
	}
	return out.String()
}

// programVariable is set in a process that performs the programs of its standard input on
// PyTorch's allocator, and does nothing else.
const programVariable = "GAUGEBLOCK_TORCH_PROGRAM"

// between stands between two programs.
const between = "\n----\n"

// apart performs programs on PyTorch's allocator in other processes: one after the other in
// one process, and those behind a program that ends it in the next. The last answer of such
// a program says how the process ended.
func apart(o binary.Options, programs []program) (all [][]string, err error) {
	for len(all) < len(programs) {
		answers, how, err := process(o, programs[len(all):])
		if err != nil {
			return nil, err
		}
		if how != "" {
			last := len(answers) - 1
			answers[last] = append(answers[last], "the process ends: "+how)
		}
		all = append(all, answers...)
	}
	return all, nil
}

// process performs programs in one process. If it ended before their end, how says how, and
// the last answers are those of the program that ended it.
func process(o binary.Options, programs []program) (all [][]string, how string, err error) {
	name, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	var texts []string
	for _, p := range programs {
		texts = append(texts, strings.Join(p.lines, "\n"))
	}
	var said bytes.Buffer
	child := exec.Command(name)
	child.Stdin = strings.NewReader(strings.Join(texts, between))
	child.Env = append(os.Environ(), programVariable+"=1", workerVariable+"="+o.Work,
		librariesVariable+"="+o.Libraries, "GOTRACEBACK=none", "PYTORCH_ALLOC_CONF=", "PYTORCH_CUDA_ALLOC_CONF=")
	child.Stderr = &said
	out, ended := child.Output()
	all = [][]string{nil}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		answer, err := strconv.Unquote(lines.Text())
		if err != nil {
			return nil, "", fmt.Errorf("the process said %q: %w", lines.Text(), err)
		}
		if len(all[len(all)-1]) == len(programs[len(all)-1].lines) {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], answer)
	}
	var exit *exec.ExitError
	if ended != nil && !errors.As(ended, &exit) {
		return nil, "", ended
	}
	if ended == nil {
		return all, "", nil
	}
	if how = howEnded(said.String()); how == "" {
		return nil, "", fmt.Errorf("the process ended with %v: %s", ended, said.String())
	}
	if len(all[len(all)-1]) == len(programs[len(all)-1].lines) {
		all = append(all, nil) // in the first line of the next
	}
	return all, how, nil
}

// howEnded reads a process's last words.
func howEnded(said string) string {
	if strings.Contains(said, "terminate called") {
		return "an exception that nothing catches"
	}
	return regexp.MustCompile(`SIG[A-Z]+`).FindString(said)
}

// performAlone is the other side of apart: it ends the process if this is one.
func performAlone() {
	if os.Getenv(programVariable) != "" {
		end(performPrograms(os.Stdin))
	}
}

func performPrograms(programs io.Reader) error {
	runtime.LockOSThread()
	text, err := io.ReadAll(programs)
	if err != nil {
		return err
	}
	o := binary.Options{Libraries: os.Getenv(librariesVariable), Work: os.Getenv(workerVariable)}
	if err := binary.Load(o); err != nil {
		return err
	}
	for one := range strings.SplitSeq(string(text), between) {
		s := &stage{factory: New, release: binary.LoadedRelease()}
		for line := range strings.SplitSeq(one, "\n") {
			answer, err := s.perform(line)
			if err != nil {
				return err
			}
			fmt.Println(strconv.Quote(answer))
		}
	}
	return nil
}

// TestRowsOfReleases: on the libraries of each release that is in the cache a program shows a
// difference if the release has its deviation, and otherwise none.
func TestRowsOfReleases(t *testing.T) {
	if race.Enabled {
		t.Skip("builds the adaptor for each release, and the race detector sees nothing of it")
	}
	for i, version := range wheel.Have() {
		if allrows.Without(i, 3) {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			o, err := Find(version, t.TempDir())
			must(t, err)
			release := o.Release()
			if release.Tried != version {
				t.Skip("another version of this release is tried")
			}
			must(t, binary.Build(o))
			for _, file := range rowTests {
				rowsOfRelease(t, o, file)
			}
		})
	}
}

func rowsOfRelease(t *testing.T, o binary.Options, file string) {
	var programs []program
	release := o.Release().Name
	for _, p := range demonstrated(t, file) {
		if p.isFor(release) {
			programs = append(programs, p)
		}
	}
	all, err := apart(o, programs)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	for i, p := range programs {
		ours, err := p.perform(release)
		must(t, err)
		p.differAsTheyShould(t, release, p.beside(ours, all[i]))
	}
}

// differAsTheyShould checks that the answers differ if the release has the deviation.
func (p *program) differAsTheyShould(t *testing.T, release, answers string) {
	t.Helper()
	d := upstream.FindDeviation(p.row)
	if d == nil {
		return // which TestDemonstratedRows says
	}
	want := !d.Kept() && within(release, d.From, d.Until)
	if differs := strings.Contains(answers, "  PyTorch:"); differs != want {
		t.Errorf("%s: that there is a difference is %v\n%s", p.row, differs, answers)
	}
}

// TestDemonstratedRows: what testdata/rows shows are deviations that say so, and every program
// of one that is not kept shows a difference.
func TestDemonstratedRows(t *testing.T) {
	shown := map[[2]string]bool{} // deviation and test
	for name, file := range rowTests {
		for _, p := range demonstrated(t, file) {
			d := upstream.FindDeviation(p.row)
			if d == nil || !slices.Contains(d.Shown, "tools/torch."+name) {
				t.Errorf("%s: %q is no deviation that is shown by %s", file, p.row, name)
				continue
			}
			shown[[2]string{d.ID, name}] = true
			if differs := strings.Contains(p.answers, "  PyTorch:"); p.isFor("2.11") && differs == d.Kept() {
				t.Errorf("%s: that there is a difference is %v, for %q", file, differs, p.row)
			}
		}
	}
	for _, d := range upstream.Deviations() {
		for name := range rowTests {
			if slices.Contains(d.Shown, "tools/torch."+name) && !shown[[2]string{d.ID, name}] {
				t.Errorf("%s does not show %s", name, d.ID)
			}
		}
	}
}

// demonstrated are the programs of a file, with what was answered.
func demonstrated(t *testing.T, file string) (programs []program) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(rowFiles, file))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "\nshow\n")[1:] {
		input, answers, _ := strings.Cut(part, "----\n")
		p := parseProgram(input)
		p.answers = answers
		programs = append(programs, p)
	}
	return programs
}
