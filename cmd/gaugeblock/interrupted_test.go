package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestNowhereToWrite: where standard output is full or closed, the home folder is not there, or the
// folder may not be written, every command ends by itself and does not panic; a full disk is said.
func TestNowhereToWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a hundred processes")
	}
	for _, c := range everyCommand(t) {
		if c.slow || c.status != statusExact || c.args[0] == "examine" {
			continue
		}
		t.Run(c.name(), func(t *testing.T) {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skip("there is no full device")
			}
			defer full.Close()
			var problem bytes.Buffer
			p := process(c.args...)
			p.Dir, p.Stdout, p.Stderr = t.TempDir(), full, &problem
			p.Run()
			if status := p.ProcessState.ExitCode(); status == 0 && !strings.Contains(strings.Join(c.args, " "), "--help") || strings.Contains(problem.String(), "goroutine ") {
				t.Errorf("onto a full disk: status %d, %s", status, &problem)
			}
			from, to, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			from.Close()
			problem.Reset()
			p = process(c.args...)
			p.Dir, p.Stdout, p.Stderr = t.TempDir(), to, &problem
			p.Run()
			to.Close()
			if strings.Contains(problem.String(), "goroutine ") {
				t.Errorf("into a closed pipe: %s", &problem)
			}
			var out bytes.Buffer
			p = process(c.args...)
			p.Dir, p.Stdout, p.Stderr = t.TempDir(), &out, &out
			p.Env = append(p.Env, "HOME=", "XDG_CACHE_HOME=")
			if p.Run(); p.ProcessState.ExitCode() != c.status {
				t.Errorf("without a home: status %d, %s", p.ProcessState.ExitCode(), &out)
			}
		})
	}
}
