package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gaugeblock/internal/allrows"
	"gaugeblock/tools/torch"
)

// aCommand is a command line that ends soon by itself.
type aCommand struct {
	args   []string
	status int
	raw    bool // the output is for programs: lines have no width
	slow   bool // it compiles something
}

// name is the command line without the folders of files.
func (c *aCommand) name() string {
	words := make([]string, len(c.args))
	for i, arg := range c.args {
		if words[i] = filepath.Base(arg); arg == "" {
			words[i] = `""`
		}
	}
	return strings.Join(words, " ")
}

// terminalsFile has the table.
const terminalsFile = "../../docs/lab/terminals.md"

// absolute is a path that holds in every folder.
func absolute(t *testing.T, path string) string {
	t.Helper()
	found, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// everyCommand are command lines of every command.
func everyCommand(t *testing.T) []aCommand {
	t.Helper()
	snapshot := absolute(t, "../../snapshot/tell/testdata/snapshots/gpt_oom7.default.limit.pickle.gz")
	trace, log := absolute(t, "../../tests/golden/testdata/basic-1000.jsonl.gz"), filepath.Join(t.TempDir(), "log.csv")
	oom := filepath.Join(t.TempDir(), "oom.txt")
	for path, text := range map[string]string{log: "Thread,Time,Action,Pointer,Size,Stream\n0,1,allocate,0x1000,10,0\n0,2,free,0x1000,10,0\n", oom: oomMessage} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := []aCommand{
		{args: []string{"--help"}}, {args: []string{"version"}}, {args: []string{"record"}, raw: true}, {args: []string{"completion", "fish"}, raw: true},
		{args: []string{"whatif", snapshot, "--settings", "", "--settings", "expandable_segments:True"}},
		{args: []string{"whatif", "--why", snapshot, "--settings", "garbage_collection_threshold:0.6,roundup_power2_divisions:[256:1,512:2,1024:4,>:8]"}},
		{args: []string{"whatif", "--json", snapshot, "--settings", ""}, raw: true},
		{args: []string{"whatif", oom}},
		{args: []string{"report", snapshot, "--no-whatif"}},
		{args: []string{"replay", trace, "-v"}}, {args: []string{"check", log}},
		{args: []string{"soak", "--ops", "3000", "--area", "core", "--area", "pools"}},
		{args: []string{"explore", "core_tiny", "pools_tiny"}},
		{args: []string{"compare", twoStreams, "cudaMallocAsync", "pytorch,expandable_segments:True"}},
		{args: []string{"run", "--", "true"}, status: statusBadInput},
		{args: []string{"fit", "--", "true"}, status: statusBadInput},
		{args: []string{"whatif", "/no/such/file"}, status: statusBadInput},
	}
	for _, name := range []string{"run", "fit", "replay", "check", "soak", "explore", "whatif", "report", "examine", "compare", "torch", "completion"} {
		list = append(list, aCommand{args: []string{name, "--help"}})
	}
	if python, err := exec.LookPath("python3"); err == nil {
		list = append(list, aCommand{args: []string{"examine", "--ops", "800", "--", python, absolute(t, "../../tools/examine/testdata/drivers/driver.py")}})
	}
	if found, err := torch.ForTests(t.TempDir()); err == nil && !testing.Short() {
		list = append(list, aCommand{args: []string{"torch", "--torch", found.Libraries, "--ops", "3000", "--area", "core"}, slow: true})
	}
	return list
}

const oomMessage = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 362.00 MiB. GPU 0 has a total capacity of 139.81 GiB of which 135.00 GiB is free. " +
	"4.32 GiB allowed; Of the allocated memory 3.89 GiB is allocated by PyTorch, and 349.58 MiB is reserved by PyTorch but unallocated.\n"

// terminalMode is a kind of terminal.
type terminalMode struct {
	name      string
	columns   uint16
	variables []string
}

var terminalModes = []terminalMode{{"60", 60, nil}, {"80", 80, nil}, {"200", 200, nil}, {"80, NO_COLOR", 80, []string{"NO_COLOR=1"}}, {"80, dumb", 80, []string{"TERM=dumb"}}}

var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// TestEveryCommand: on terminals of three widths, without colour, on a dumb terminal and in a pipe every
// command ends by itself with the same status. No line is wider than the terminal or ends with blanks,
// and there are no escapes where nobody asked for them.
func TestEveryCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two hundred processes")
	}
	table := openTable(t, terminalsFile)
	for i, c := range everyCommand(t) {
		if !*updateSituations && allrows.Without(i, 8) {
			continue
		}
		t.Run(c.name(), func(t *testing.T) {
			var cells []string
			for _, mode := range terminalModes {
				if c.slow && mode.name != "80" {
					cells = append(cells, "")
					continue
				}
				x := onTerminal(t, mode.columns, mode.variables, c.args...)
				if status := x.end(t); status != c.status {
					t.Errorf("%s: status %d: %q", mode.name, status, x.text())
				}
				cells = append(cells, strconv.Itoa(x.command.ProcessState.ExitCode()))
				screen := x.text()
				if found := regexp.MustCompile(`\x1b\[[0-9;]*m`).FindString(screen); strings.Contains(mode.name, "NO_COLOR") && found != "" || strings.Contains(mode.name, "dumb") && strings.Contains(screen, "\x1b") {
					t.Errorf("%s: %q", mode.name, screen)
				}
				if !c.raw {
					checkLines(t, mode.name, strings.ReplaceAll(escapes.ReplaceAllString(screen, ""), "\r\n", "\n"), int(mode.columns))
				}
			}
			var out bytes.Buffer
			piped := process(c.args...)
			piped.Dir, piped.Stdout, piped.Stderr = t.TempDir(), &out, &out
			if piped.Run(); piped.ProcessState.ExitCode() != c.status || strings.Contains(out.String(), "\x1b") {
				t.Errorf("in a pipe: status %d, %q", piped.ProcessState.ExitCode(), &out)
			}
			if !c.raw {
				checkLines(t, "in a pipe", out.String(), 1<<20)
			}
			table.compare(t, c.name(), append(cells, strconv.Itoa(piped.ProcessState.ExitCode())))
		})
	}
	table.write(t)
}

// checkLines looks at what a command printed. What is for programs or to be copied is whole: JSON, a
// command, a path.
func checkLines(t *testing.T, mode, text string, columns int) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if line != strings.TrimRight(line, " \t") {
			t.Errorf("%s: a line ends with blanks: %q", mode, line)
		}
		word := strings.TrimSpace(line)
		if strings.HasPrefix(line, "Usage: ") || strings.HasPrefix(line, `Run "gaugeblock <`) {
			continue // the library of the command line does not break these
		}
		whole := strings.HasPrefix(line, "{") || strings.Contains(line, "export ") || !strings.Contains(word, " ") || strings.HasPrefix(line, "    ")
		if n := len([]rune(line)); n > columns && !whole {
			t.Errorf("%s: %d columns: %q", mode, n, line)
		}
	}
}

// TestFoldLine: lines are broken between words and nothing is lost; what is to be copied stays whole.
func TestFoldLine(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"short", "short"},
		{"one two three four five", "one two\n  three\n  four\n  five"},
		{"  one two three four", "  one two\n    three\n    four"},
		{"\x1b[1mone two three\x1b[0m", "\x1b[1mone two\n  three\x1b[0m"},
		{"anextraordinarilylongword two", "anextraordinarilylongword\n  two"},
		{`{"a":1, "b":2, "c":3}`, `{"a":1, "b":2, "c":3}`},
		{"    gaugeblock report a b", "    gaugeblock report a b"},
		{"Try:   export A=expandable_segments:True", "Try:   export A=expandable_segments:True"},
		{"", ""},
	} {
		if got := foldLine(test.line, 10); got != test.want {
			t.Errorf("%q: %q, want %q", test.line, got, test.want)
		}
	}
	var out bytes.Buffer
	f := &foldWriter{to: &out, columns: 10}
	for _, part := range []string{"one tw", "o three f", "our\nend"} {
		f.Write([]byte(part))
	}
	if f.flush(); out.String() != "one two\n  three\n  four\nend" {
		t.Errorf("%q", &out)
	}
}
