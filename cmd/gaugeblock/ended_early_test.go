package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"gaugeblock/internal/allrows"
)

// endedFile has the table.
const endedFile = "../../docs/lab/ended-early.md"

// TestEndedOnTerminal: Ctrl-C on a terminal ends every command that is at work, with the statuses of the
// table. The bar is gone, no process that it has started goes on, and nothing is left but what is whole.
func TestEndedOnTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("starts eighty processes")
	}
	table := openTable(t, endedFile)
	for i, s := range subjects(t) {
		if s.busy == nil || !*updateSituations && allrows.Without(i, 6) { // it ends at once
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			var cells []string
			for _, mode := range terminalModes {
				cell := ""
				if !s.slow || mode.name == "80" {
					cell = pressCtrlC(t, s, mode)
				}
				cells = append(cells, cell)
			}
			table.compare(t, s.name, cells)
		})
	}
	table.write(t)
}

// pressCtrlC ends a command that is at work in a terminal, and if it has a bar when that is shown. It returns the
// status.
func pressCtrlC(t *testing.T, s subject, mode terminalMode) string {
	t.Helper()
	notIgnored(t, os.Interrupt)
	keyboard, screen, err := pty.Open()
	if err != nil {
		t.Skipf("there is no terminal: %v", err)
	}
	defer keyboard.Close()
	if err := pty.Setsize(keyboard, &pty.Winsize{Rows: 40, Cols: mode.columns}); err != nil {
		t.Fatal(err)
	}
	x := newTrial(t, s.busy...)
	x.Env = append(append(x.Env, "TERM=xterm", "NO_COLOR=", "COLUMNS="), mode.variables...)
	x.Stdin, x.Stdout, x.Stderr = screen, screen, screen
	x.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	shown := &terminal{file: keyboard}
	read := make(chan struct{})
	go func() {
		defer close(read)
		part := make([]byte, 1<<12)
		for {
			n, err := keyboard.Read(part)
			shown.Write(part[:n])
			if err != nil {
				return
			}
		}
	}()
	x.startBusy(t, s)
	screen.Close()
	if s.bar && mode.name != "80, dumb" {
		shown.waitFor(t, "%")
	}
	started := descendants(x.Process.Pid)
	if _, err := keyboard.Write([]byte("\x03")); err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(-x.Process.Pid, syscall.SIGKILL) })
	_ = x.Wait()
	hung.Stop()
	<-read
	allEnd(t, mode.name, started...)
	for _, line := range onScreenAtEnd(shown.text()) {
		if strings.Contains(line, "%") && strings.Contains(line, "[") {
			t.Errorf("%s: the bar is left: %q", mode.name, line)
		}
	}
	x.stderr.WriteString(shown.text())
	return x.ended(t, s, mode.name)
}

var escape = regexp.MustCompile(`^\x1b\[([0-9;?]*)([A-Za-z])`)

// onScreenAtEnd are the lines of a terminal when a text was written: a bar goes up, and clears what is below.
func onScreenAtEnd(text string) []string {
	lines, row := []string{""}, 0
	for text != "" {
		if found := escape.FindStringSubmatch(text); found != nil {
			n, _ := strconv.Atoi(found[1])
			switch found[2] {
			case "A":
				row = max(0, row-max(1, n))
			case "J":
				lines = lines[:row+1]
				lines[row] = ""
			case "K":
				lines[row] = ""
			}
			text = text[len(found[0]):]
			continue
		}
		switch c := text[0]; c {
		case '\n':
			if row++; row == len(lines) {
				lines = append(lines, "")
			}
		case '\r':
		default:
			lines[row] += string(c)
		}
		text = text[1:]
	}
	return lines
}

// TestOnScreenAtEnd: a bar that was drawn over is gone, one that was not is there.
func TestOnScreenAtEnd(t *testing.T) {
	bar := "1 of 9 [=>---] 11 %\r\n"
	if got := onScreenAtEnd(bar + "\x1b[1A\x1b[Jdone\r\n"); !slices.Equal(got, []string{"done", ""}) {
		t.Errorf("%q", got)
	}
	if got := onScreenAtEnd(bar + "\x1b[1A\x1b[J" + bar); !strings.Contains(got[0], "11 %") {
		t.Errorf("%q", got)
	}
}

// TestCtrlCRemovesBar: also of a command that catches no signals itself.
func TestCtrlCRemovesBar(t *testing.T) {
	snapshot := absolute(t, "../../snapshot/tell/testdata/snapshots/gpt_varlen.default.nolimit.pickle.gz")
	list := []string{"report", "--no-whatif", "-o", filepath.Join(t.TempDir(), "page.html")}
	for i := range 400 {
		path := filepath.Join(t.TempDir(), "rank"+strconv.Itoa(i)+".pickle.gz")
		if err := os.Symlink(snapshot, path); err != nil {
			t.Fatal(err)
		}
		list = append(list, path)
	}
	x := onTerminal(t, 80, nil, list...)
	x.waitFor(t, "%")
	if _, err := x.file.Write([]byte("\x03")); err != nil {
		t.Fatal(err)
	}
	if status := x.end(t); status != statusInterrupted {
		t.Errorf("status %d: %q", status, x.text())
	}
	for _, line := range onScreenAtEnd(x.text()) {
		if strings.Contains(line, "[") && strings.Contains(line, "%") {
			t.Errorf("the bar is left: %q", line)
		}
	}
}
