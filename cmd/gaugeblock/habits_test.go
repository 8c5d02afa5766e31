package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gaugeblock/upstream"
)

// TestVersion: the flag prints what the command prints.
func TestVersion(t *testing.T) {
	var outputs []string
	for _, args := range [][]string{{"version"}, {"--version"}, {"whatif", "--version"}} {
		var stdout, stderr bytes.Buffer
		if status := run(args, nil, &stdout, &stderr); status != statusExact || stderr.Len() > 0 {
			t.Errorf("%q: status %d, %s", args, status, &stderr)
		}
		outputs = append(outputs, stdout.String())
	}
	first, releases, _ := strings.Cut(outputs[0], "\n")
	if first+"\n" != outputs[1] || outputs[1] != outputs[2] || !strings.Contains(first, "after PyTorch 2.6 to 2.15") {
		t.Errorf("%q", outputs)
	}
	for _, r := range upstream.Releases() {
		if !strings.Contains(releases, "  "+r.Name+" ") {
			t.Errorf("version does not list %s:\n%s", r.Name, releases)
		}
	}
}

// TestCompletion asks bash what the script completes.
func TestCompletion(t *testing.T) {
	var script, stderr bytes.Buffer
	if status := run([]string{"completion", "bash"}, nil, &script, &stderr); status != statusExact {
		t.Fatal(stderr.String())
	}
	for _, test := range []struct {
		words string // the last one is being completed
		want  []string
	}{
		{"gaugeblock re", []string{"replay", "record", "report"}},
		{"gaugeblock --v", []string{"--version"}},
		{"gaugeblock whatif --s", []string{"--settings", "--search"}},
		{"gaugeblock report --no", []string{"--no-whatif"}},
		{"gaugeblock report --format c", []string{"csv"}},
		{"gaugeblock examine --level s", []string{"safe"}},
		{"gaugeblock soak --area po", []string{"pools"}},
		{"gaugeblock completion f", []string{"fish"}},
		{"gaugeblock replay fi", nil}, // files, which bash completes itself
	} {
		words := strings.Fields(test.words)
		shell := exec.Command("bash", "-c", script.String()+`
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gaugeblock; printf '%s\n' "${COMPREPLY[@]}"`, "bash")
		shell.Args = append(shell.Args, words...)
		out, err := shell.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", test.words, err, out)
		}
		if got := strings.Fields(string(out)); strings.Join(got, " ") != strings.Join(test.want, " ") {
			t.Errorf("%s: completes %q, want %q", test.words, got, test.want)
		}
	}
}

// TestCompletionOfShells: every command and flag is in the scripts of the other shells.
func TestCompletionOfShells(t *testing.T) {
	for shell, parts := range map[string][]string{
		"zsh":  {"bashcompinit", "--search", "replay) "},
		"fish": {"-a whatif", "__fish_seen_subcommand_from whatif' -l search", `PyTorch\'s`},
	} {
		var stdout, stderr bytes.Buffer
		status := run([]string{"completion", shell}, nil, &stdout, &stderr)
		for _, part := range parts {
			if status != statusExact || !strings.Contains(stdout.String(), part) {
				t.Errorf("%s: status %d, no %q in\n%s", shell, status, part, &stdout)
			}
		}
		for _, empty := range []string{"-a ''", `-W "" --`} {
			if strings.Contains(stdout.String(), empty) {
				t.Errorf("%s is told that a flag takes none of any words: %s", shell, empty)
			}
		}
	}
}

// TestInterrupt presses Ctrl-C: the searches end, and print what they found.
func TestInterrupt(t *testing.T) {
	notIgnored(t, os.Interrupt) // one may come before the command listens, or after its end
	for _, args := range [][]string{
		{"soak", "--ops", "1000000000", "--out", t.TempDir(), "--json"},
		{"explore", "core", "--json"},
	} {
		t.Run(args[0], func(t *testing.T) {
			stop := make(chan struct{})
			defer close(stop)
			go pressAtWork(stop)
			var stdout, stderr bytes.Buffer
			status := run(args, nil, &stdout, &stderr)
			var summary struct {
				Operations, States int
				Stopped            bool
			}
			if err := json.Unmarshal(stdout.Bytes(), &summary); err != nil {
				t.Fatalf("%v: %s%s", err, &stdout, &stderr)
			}
			if status != statusInterrupted || !summary.Stopped || summary.Operations+summary.States == 0 {
				t.Errorf("status %d, %+v", status, summary)
			}
		})
	}
}

// pressAtWork presses Ctrl-C when this process has used its processor for some time, however busy the machine
// is, and again until stop is closed.
func pressAtWork(stop <-chan struct{}) {
	used := func() time.Duration {
		var u unix.Rusage
		_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano())
	}
	for began := used(); ; {
		select {
		case <-stop:
			return
		case <-time.After(100 * time.Millisecond):
		}
		if used()-began > 300*time.Millisecond {
			_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		}
	}
}

// TestDumbTerminal: without a terminal that moves its cursor there is no bar.
func TestDumbTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	for term, want := range map[string]bool{"xterm": true, "dumb": false} {
		t.Setenv("TERM", term)
		if got := newProgress(terminal, 10, false).terminal != nil; got != want {
			t.Errorf("TERM=%s: a bar: %v, want %v", term, got, want)
		}
	}
}
