package mutants

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gaugeblock/internal/checkout"
	"gaugeblock/model/tlc"
	"gaugeblock/tests/tla/runner"
	"gaugeblock/tla"
)

var (
	tools = flag.String("tools", "", "the file tla2tools.jar: TLC looks at the mutants that are named, or at all")
	into  = flag.String("overlay", "", "write an overlay of the model with all mutants into this folder")
)

func run(tools string, names []string) error {
	tools, err := filepath.Abs(tools)
	if err != nil {
		return err
	}
	root, err := checkout.Root()
	if err != nil {
		return err
	}
	list, err := readAll()
	if err != nil {
		return err
	}
	wrong := 0
	for i := range list {
		m := &list[i]
		if m.fails == "" || len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		started := time.Now()
		found, err := check(tools, filepath.Join(root, "tla"), m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		verdict := "as expected"
		if found.Verdict != m.fails || found.Trace != m.states {
			verdict = fmt.Sprintf("WRONG: %s in %d states is expected", m.fails, m.states)
			wrong++
		} else if enough, err := oneFailureIsEnough(tools, filepath.Join(root, "tla"), m); err != nil {
			return fmt.Errorf("%s with one failure: %w", m.name, err)
		} else if enough {
			verdict = "WRONG: it is found with one failing driver call"
			wrong++
		}
		fmt.Printf("%-30s %-30s %3d states %7d generated %6.1f s  %s\n",
			m.name, found.Verdict, found.Trace, found.Generated, time.Since(started).Seconds(), verdict)
	}
	if wrong > 0 {
		return fmt.Errorf("%d of the mutants are not found as expected", wrong)
	}
	return nil
}

// oneFailureIsEnough reports whether TLC finds a mistake at a second failing driver call where only
// one call of an operation fails.
func oneFailureIsEnough(tools, dir string, m *mutant) (bool, error) {
	one, is := m.withOneFailure()
	if !is {
		return false, nil
	}
	found, err := check(tools, dir, &one)
	return found.Verdict != "ok", err
}

// check runs TLC on a copy of the specification with the mistake.
func check(tools, dir string, m *mutant) (found tlc.Summary, err error) {
	scratch, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return found, err
	}
	defer os.RemoveAll(scratch)
	if err := runner.CopyFiles(filepath.Join(dir, "*.tla"), scratch); err != nil {
		return found, err
	}
	for _, p := range m.pieces {
		if name, is := strings.CutPrefix(p.file, "tla/"); is {
			if err := change(filepath.Join(scratch, name), &p); err != nil {
				return found, err
			}
		}
	}
	config, err := m.config()
	if err != nil {
		return found, err
	}
	// TLC ignores unknown names
	if _, err := tla.ReadConfig([]byte(config), m.name+".cfg"); err != nil {
		return found, err
	}
	if err := os.WriteFile(filepath.Join(scratch, "mutant.cfg"), []byte(config), 0o644); err != nil {
		return found, err
	}
	found, _, err = runner.TLC{Tools: tools, Dir: scratch, Scratch: scratch}.Check("mutant.cfg", m.file())
	return found, err
}

func change(file string, p *piece) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed, err := p.apply(string(text))
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(changed), 0o644)
}
