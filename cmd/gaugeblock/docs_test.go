package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/allrows"
	"gaugeblock/internal/race"
)

// notRun are the commands of the documents that the test does not run, and why.
var notRun = map[string]string{
	"go run ./cmd/gaugeblock torch --torch 2.11 --edges --config core --config streams": "needs PyTorch, and minutes; TestEveryEdge runs a small configuration",
	"go run ./cmd/gaugeblock torch --ops 1000000":                                       "needs PyTorch; TestTorch runs the command",
	"go run ./cmd/gaugeblock torch get 2.15.0":                                          "fetches a release",
	"go run ./cmd/gaugeblock torch --torch 2.15 --ops 1000000":                          "needs that release; TestTorch runs the command",
	"go run ./cmd/gaugeblock torch --against 2.14 2.15":                                 "needs two releases",
	"go run ./cmd/gaugeblock torch --against 2.15 PATH/TO/MY/BUILD/torch":               "needs two releases",
	"go run ./cmd/gaugeblock examine libyours.so":                                       "needs an allocator; tools/examine examines several",
}

// endsWith is the exit status of the commands that do not end with 0, and why.
var endsWith = map[string]int{
	"gaugeblock check demo.csv":          statusDiffers, // the log has a hazard
	"gaugeblock explore core_weak_retry": statusDiffers, // shows a counterexample
}

// startsProgram is a command that runs a program with PyTorch; the tests of tools/run and tools/fit
// do that.
var startsProgram = regexp.MustCompile(`^gaugeblock (run|fit) (.* )?-- `)

// inline is a command in the running text.
var inline = regexp.MustCompile("`((?:gaugeblock|go run \\./cmd/gaugeblock|make)(?: [^`]*)?)`")

// mentioned is added to a command in the running text, which need not be complete: that the
// command, and its flags, exist.
const mentioned = " --help"

// commandsOf are the shell commands of a document that begin with gaugeblock, go run
// ./cmd/gaugeblock or make: lines of code, and code in the running text if it has no
// placeholder.
func commandsOf(document string) (commands []string) {
	document = strings.ReplaceAll(document, "\\\n", " ")
	fenced := false
	for line := range strings.Lines(document) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		code, isCode := strings.CutPrefix(line, "    ")
		if fenced {
			code, isCode = line, true
		}
		if !isCode {
			for _, found := range inline.FindAllStringSubmatch(line, -1) {
				if strings.Contains(found[1], " ") && found[1] == strings.ToLower(found[1]) {
					commands = append(commands, found[1]+mentioned)
				}
			}
			continue
		}
		code = strings.TrimPrefix(strings.TrimSpace(code), "$ ")
		code, _, _ = strings.Cut(code, " # ")
		for _, begin := range []string{"gaugeblock ", "go run ./cmd/gaugeblock ", "make "} {
			if strings.HasPrefix(code, begin) {
				commands = append(commands, strings.Join(strings.Fields(code), " "))
			}
		}
	}
	return commands
}

// TestCommandsOfDocuments runs the commands of the documents, in a folder that has the
// project's folders and the files that they name. Long searches are made short. Of a target
// of make it is checked that there is one.
func TestCommandsOfDocuments(t *testing.T) {
	if race.Enabled {
		t.Skip("runs every command")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	where := map[string]string{}
	for _, path := range documents(t, root) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range commandsOf(string(text)) {
			where[command], err = filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for command := range notRun {
		if where[command] == "" {
			t.Errorf("%q is in no document", command)
		}
	}
	for command := range endsWith {
		if where[command] == "" {
			t.Errorf("%q is in no document", command)
		}
	}
	if len(where) < 25 {
		t.Errorf("only %d commands were found", len(where))
	}
	folder := documentsFolder(t, root)
	for i, command := range slices.Sorted(maps.Keys(where)) {
		if allrows.Without(i, 6) {
			continue
		}
		t.Run(command, func(t *testing.T) {
			switch {
			case notRun[command] != "":
				t.Logf("not run: %s", notRun[command])
			case strings.HasPrefix(command, "make "):
				runMake(t, root, command)
			case startsProgram.MatchString(command): // it needs PyTorch: only its flags are looked at
				t.Chdir(folder)
				flags, _, _ := strings.Cut(command, " -- ")
				runDocumented(t, where[command], flags+mentioned)
			default:
				t.Chdir(folder)
				runDocumented(t, where[command], command)
			}
		})
	}
}

// documents are the guide and the pages of the rooms. The commands of a lab note are those of
// its commit.
func documents(t *testing.T, root string) (pages []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "build", "lab", "testdata"}, entry.Name()):
			return fs.SkipDir
		case filepath.Ext(name) == ".md":
			pages = append(pages, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// documentsFolder has what the commands name.
func documentsFolder(t *testing.T, root string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"cmd", "docs", "snapshot", "tests"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	snapshots := filepath.Join(root, "snapshot", "tell", "testdata", "snapshots")
	golden := filepath.Join(root, "tests", "golden", "testdata", "checkpoint-1302.jsonl.gz")
	for name, from := range map[string]string{
		"snapshot.pickle":        filepath.Join(snapshots, "gpt_oom7.default.limit.pickle.gz"),
		"before.pickle":          filepath.Join(snapshots, "gpt_oom7.default.nolimit.pickle.gz"),
		"after.pickle":           filepath.Join(snapshots, "gpt_varlen.default.nolimit.pickle.gz"),
		"snapshots/rank0.pickle": filepath.Join(snapshots, "two_streams.default.nolimit.pickle.gz"),
		"snapshots/rank1.pickle": filepath.Join(snapshots, "compiled.default.nolimit.pickle.gz"),
		"trace.jsonl.gz":         golden,
		"run.jsonl.gz":           golden,
	} {
		to := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := copyFile(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for name, lines := range map[string]string{"run.csv": cleanLog, "demo.csv": hazardLog} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// A log without a violation, and one with a hazard.
const (
	cleanLog = `Thread,Time,Action,Pointer,Size,Stream
1,1.0,allocate,0x7f0000000000,1024,0x10
1,1.1,write,0x7f0000000000,0,0x10
1,1.2,free,0x7f0000000000,1024,0x10
`
	hazardLog = `Thread,Time,Action,Pointer,Size,Stream
1,1.0,allocate,0x7f0000000000,1024,0x10
1,1.1,write,0x7f0000000000,0,0x20
1,1.2,free,0x7f0000000000,1024,0x10
1,1.3,allocate,0x7f0000000000,1024,0x10
1,1.4,write,0x7f0000000000,0,0x10
1,1.5,free,0x7f0000000000,1024,0x10
`
)

var operations = regexp.MustCompile(`--ops \d+`)

// runDocumented runs a command of a document.
func runDocumented(t *testing.T, document, command string) {
	line := strings.TrimPrefix(strings.TrimPrefix(command, "go run ./cmd/gaugeblock"), "gaugeblock")
	line = operations.ReplaceAllString(line, "--ops 900")
	line, _, _ = strings.Cut(line, " > ")
	line = strings.ReplaceAll(line, "/tmp/found", "tests/golden/testdata/basic-1000.jsonl.gz")
	line = strings.TrimSuffix(strings.TrimSpace(line), "...")
	var args []string
	for _, word := range strings.Fields(line) {
		args = append(args, strings.Trim(word, `"'`))
	}
	var stdout, stderr bytes.Buffer
	if status := run(args, strings.NewReader(""), &stdout, &stderr); status != endsWith[command] {
		t.Errorf("%s: %q ends with %d, want %d\n%s", document, command, status, endsWith[command], &stderr)
	}
}

// runMake asks make what it would do.
func runMake(t *testing.T, root, command string) {
	shell := exec.Command("bash", "-c", "make -n"+strings.TrimSuffix(strings.TrimPrefix(command, "make"), mentioned))
	shell.Dir = root
	if out, err := shell.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
}
