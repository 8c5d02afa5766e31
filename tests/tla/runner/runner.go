// Package runner runs TLC, for the commands beside it.
package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"gaugeblock/model/tlc"
)

// TLC is how TLC is run.
type TLC struct {
	Tools   string // the file tla2tools.jar
	Dir     string // where the modules and the configurations are
	Scratch string // where TLC keeps its states
}

// Check runs TLC on a configuration of a module, with one worker and a fixed fingerprint
// function, so that every run has the same result. Liveness is tested once, when all states
// are explored.
func (t TLC) Check(cfg, module string, others ...string) (summary tlc.Summary, processor time.Duration, err error) {
	args := append([]string{
		"-XX:+UseParallelGC", "-cp", t.Tools, "tlc2.TLC", "-workers", "1", "-fp", "0", "-noGenerateSpecTE",
		"-lncheck", "final", "-metadir", filepath.Join(t.Scratch, "states"), "-config", cfg,
	}, others...)
	command := exec.Command("java", append(args, module+".tla")...)
	command.Dir = t.Dir
	text, failure := command.CombinedOutput() // TLC's status is not 0 for a counterexample
	if summary, err = tlc.ReadSummary(string(text)); err != nil {
		return summary, 0, fmt.Errorf("%w (java: %v)", err, failure)
	}
	return summary, command.ProcessState.UserTime() + command.ProcessState.SystemTime(), nil
}

// CopyFiles copies the files that match a pattern into a directory.
func CopyFiles(pattern, to string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
