package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is a pseudo-terminal in which a command runs.
type terminal struct {
	command *exec.Cmd
	file    *os.File
	mu      sync.Mutex
	written bytes.Buffer
	ended   chan error
}

// onTerminal starts a command on a terminal of so many columns.
func onTerminal(t *testing.T, columns uint16, variables []string, args ...string) *terminal {
	t.Helper()
	notIgnored(t, os.Interrupt)
	x := &terminal{command: process(args...), ended: make(chan error, 1)}
	x.command.Env = append(append(x.command.Env, "TERM=xterm", "NO_COLOR=", "COLUMNS="), variables...)
	x.command.Dir = t.TempDir()
	var err error
	if x.file, err = pty.StartWithSize(x.command, &pty.Winsize{Rows: 40, Cols: columns}); err != nil {
		t.Skipf("there is no terminal: %v", err)
	}
	t.Cleanup(func() { x.command.Process.Kill(); x.file.Close() })
	go func() {
		io.Copy(x, x.file) // ends with an error when the other end is closed
		x.ended <- x.command.Wait()
	}()
	return x
}

func (x *terminal) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.written.Write(p)
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.written.String()
}

// waitFor waits until the terminal shows a text.
func (x *terminal) waitFor(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(x.text(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q does not appear: %q", text, x.text())
		}
	}
}

// end waits for the end of the command, and returns its status.
func (x *terminal) end(t *testing.T) int {
	t.Helper()
	select {
	case <-x.ended:
		return x.command.ProcessState.ExitCode()
	case <-time.After(3 * time.Minute):
		t.Fatalf("it does not end: %q", x.text())
		return -1
	}
}

// TestEndsOnTerminal: with a progress bar that is not full a command ends all the same: after
// Ctrl-C, and when the memory does not suffice.
func TestEndsOnTerminal(t *testing.T) {
	for _, test := range []struct {
		args   []string
		press  string
		status int
		says   string
	}{
		{[]string{"soak", "--ops", "100000000", "--area", "core"}, "\x03", statusInterrupted, `"stopped":true`},
		{[]string{"explore", "streams", "--compact"}, "\x03", statusInterrupted, "states"},
		{[]string{"explore", "streams", "--max-memory", "20MiB"}, "", statusExhausted, "states"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			x := onTerminal(t, 80, nil, test.args...)
			if test.press != "" {
				x.waitFor(t, "%") // the bar
				io.WriteString(x.file, test.press)
			}
			if status := x.end(t); status != test.status || !strings.Contains(x.text(), test.says) {
				t.Errorf("status %d: %q", status, x.text())
			}
		})
	}
}

// TestUnfinishedBar: a bar that is shown and not full is removed.
func TestUnfinishedBar(t *testing.T) {
	terminal, screen, err := pty.Open()
	if err != nil {
		t.Skipf("there is no terminal: %v", err)
	}
	defer terminal.Close()
	go io.Copy(io.Discard, terminal)
	p := newProgress(screen, 100, false)
	p.started = time.Now().Add(-time.Hour)
	others := catching.Load()
	p.set(40)
	if p.container == nil || onScreen.Load() != p || catching.Load() != others+1 {
		t.Fatalf("there is no bar, or a signal leaves it: %d", catching.Load())
	}
	done := make(chan struct{})
	go func() { p.finish(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("finish waits for a full bar")
	}
	if p.set(50); p.container != nil || onScreen.Load() != nil || catching.Load() != others {
		t.Errorf("the bar is there again, or signals are still caught: %d", catching.Load())
	}
}

// TestReadingIsShown: how much of a file was read is on the bar.
func TestReadingIsShown(t *testing.T) {
	terminal, screen, err := pty.Open()
	if err != nil {
		t.Skipf("there is no terminal: %v", err)
	}
	defer terminal.Close()
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: 40, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() {
		var text []byte
		for part := make([]byte, 1<<10); !bytes.Contains(text, []byte("of 8 MiB")); {
			n, err := terminal.Read(part)
			if text = append(text, part[:n]...); err != nil {
				break
			}
		}
		shown <- string(text)
	}()
	r := &readingProgress{from: bytes.NewReader(make([]byte, 6<<20)), progress: newProgress(screen, 8, false)}
	r.progress.started, r.progress.counting = time.Now().Add(-time.Hour), "reading: %d of %d MiB"
	if n, err := io.Copy(io.Discard, r); n != 6<<20 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	select {
	case text := <-shown:
		if !strings.Contains(text, "reading: 6 of 8 MiB") {
			t.Errorf("%q", text)
		}
	case <-time.After(time.Minute):
		t.Error("nothing is shown")
	}
	r.progress.finish()
}

// TestBoldOnTerminal: the first line is bold on a terminal, and not with NO_COLOR or TERM=dumb,
// and no line is wider than the terminal but the three first ones.
func TestBoldOnTerminal(t *testing.T) {
	file, err := filepath.Abs("../../snapshot/tell/testdata/snapshots/gpt_oom7.default.limit.pickle.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		columns   uint16
		variables []string
		bold      bool
	}{{60, nil, true}, {80, []string{"NO_COLOR=1"}, false}, {200, []string{"TERM=dumb"}, false}} {
		x := onTerminal(t, test.columns, test.variables, "whatif", file, "--settings", "", "--settings", "expandable_segments:True")
		if status := x.end(t); status != 0 {
			t.Fatalf("status %d: %q", status, x.text())
		}
		screen := x.text()
		if i := strings.LastIndex(screen, "Out of memory at"); i < 0 || strings.HasPrefix(screen[max(0, i-4):], "\x1b[1m") != test.bold {
			t.Errorf("%v: %q", test, screen)
		}
		_, rest, _ := strings.Cut(screen, "Try:")
		for i, line := range strings.Split(rest, "\r\n") {
			if n := len([]rune(line)); i > 0 && n > int(test.columns) {
				t.Errorf("%v: %d columns: %q", test, n, line)
			}
		}
	}
}

// TestHelpAndNames: help is a command as well; a mistyped area names the areas; values complete.
func TestHelpAndNames(t *testing.T) {
	said := func(args ...string) string {
		var out bytes.Buffer
		run(args, nil, &out, &out)
		return out.String()
	}
	if said("help", "soak") != said("soak", "--help") || said("help") != said("--help") || said("help") == "" {
		t.Errorf("%q", said("help", "soak"))
	}
	for _, test := range []struct{ command, says string }{
		{"soak --area poools", `there is no such area, did you mean "pools"?; there are core, streams, `},
		{"soak --area zebra", "there is no such area; there are core, streams, "},
		{"explore coretiny", `there is no configuration "coretiny", did you mean "core_tiny"? (`},
		{"run --gpu h20 -- true", `5090, did you mean "h200"?`},
		{"whatf x", `did you mean "whatif"?`}, {"report --no-whatfi x", `did you mean "--no-whatif"?`}, {"torch gett", `did you mean "get"?`},
	} {
		if got := said(strings.Fields(test.command)...); !strings.Contains(got, test.says) {
			t.Errorf("%s: %s", test.command, got)
		}
	}
	if got := said("torch", "--help"); !strings.Contains(got, "--jobs") || got != said("help", "torch") {
		t.Error(got)
	}
	for _, shell := range []string{"bash", "fish"} {
		if got := said("completion", shell); !strings.Contains(got, "core streams limits") || !strings.Contains(got, "2.13") {
			t.Error(got)
		}
	}
	if got := said("explore", "--workers=-2"); !strings.Contains(got, "--jobs=-2 is negative") {
		t.Error(got)
	}
}
