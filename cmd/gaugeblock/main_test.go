package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestTranscripts runs the command as a user would, in a directory of its own, and
// compares what it prints and how it ends with the transcripts in testdata:
//
//	write FILE             a file with the input
//	table FILE             the same, with a line feed at its end
//	golden FILE            a recorded trace of that name, from tests/golden/testdata
//	gzip FILE              compresses FILE to FILE.gz
//	cut FILE bytes=N       leaves only the first bytes of a file
//	recorded FILE NAME     a file with the memory snapshot of that name, from snapshot/report/testdata
//	run [stdin=FILE]       each line of the input is a command line; stdin=endless
//	                       is a header and then a line without end. How long it took is left out; what
//	                       a bar on a terminal has counted at its end stands first, in brackets
//	text FILE              a file that a command has written, without how long something took
//	show FILE              the beginning of a page in JSON: what it says in words
//	program FILE           a program that answers as one with PyTorch, by the lines of the input; no library is needed
//	print NAME             a result that is made up, as it is printed
func TestTranscripts(t *testing.T) {
	golden, err := filepath.Abs("../../tests/golden/testdata")
	if err != nil {
		t.Fatal(err)
	}
	snapshots, err := filepath.Abs("../../snapshot/report/testdata")
	if err != nil {
		t.Fatal(err)
	}
	transcripts, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("COLUMNS", "") // tables are as wide as they are
	datadriven.Walk(t, transcripts, func(t *testing.T, path string) {
		t.Chdir(t.TempDir())
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var err error
			switch d.Cmd {
			case "write":
				err = os.WriteFile(argument(t, d), []byte(d.Input), 0o644)
			case "table":
				err = os.WriteFile(argument(t, d), []byte(d.Input+"\n"), 0o644)
			case "golden":
				file := argument(t, d)
				err = copyFile(filepath.Join(golden, filepath.Base(file)), file)
			case "recorded":
				err = copyFile(filepath.Join(snapshots, d.CmdArgs[1].Key), argument(t, d))
			case "program":
				reserving(t, "0") // for the libraries
				err = os.WriteFile(argument(t, d), []byte("#!/bin/sh\n"+d.Input+"\n"), 0o755)
			case "text":
				text, err := os.ReadFile(argument(t, d))
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return timed.ReplaceAllString(string(text), "$1$2$3$4$5$6")
			case "show":
				return shown(t, argument(t, d))
			case "print":
				return printed(t, argument(t, d))
			case "gzip":
				err = gzipFile(argument(t, d))
			case "cut":
				var bytes int64
				d.ScanArgs(t, "bytes", &bytes)
				err = os.Truncate(argument(t, d), bytes)
			case "run":
				return runLines(t, d)
			default:
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			return ""
		})
	})
}

// argument is the file that a command of a transcript is about. Its directory is
// made.
func argument(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	if len(d.CmdArgs) == 0 {
		d.Fatalf(t, "%s what?", d.Cmd)
	}
	file := d.CmdArgs[0].Key
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		d.Fatalf(t, "%v", err)
	}
	return file
}

// runLines runs the command lines and returns what they print.
func runLines(t *testing.T, d *datadriven.TestData) string {
	var input string
	d.MaybeScanArgs(t, "stdin", &input)
	var transcript strings.Builder
	for line := range strings.Lines(d.Input) {
		stdin, err := standardInput(input)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		words := strings.Fields(line)
		var stdout, stderr bytes.Buffer
		var counts []string
		counted = func(p *progress) {
			if p.done > 0 {
				counts = append(counts, fmt.Sprintf("("+p.counting+")\n", p.done, p.total))
			}
		}
		status := run(words[1:], stdin, &stdout, &stderr)
		counted = func(*progress) {}
		fmt.Fprintf(&transcript, "$ %s\n%s%s", strings.Join(words, " "), strings.Join(counts, ""), &stdout)
		for message := range strings.Lines(stderr.String()) {
			transcript.WriteString("stderr: " + message)
		}
		fmt.Fprintf(&transcript, "exit status %d\n", status)
	}
	return temporary.ReplaceAllString(timed.ReplaceAllString(transcript.String(), "$1$2$3$4$5$6"), "FOLDER")
}

// temporary is the folder in which a program has written.
var temporary = regexp.MustCompile(`[^ ]*/gaugeblock-run-[0-9]+`)

// timed are figures that a machine makes, and counts of random programs.
var timed = regexp.MustCompile(`("seconds": ?)[0-9.e-]+| in [0-9.]+ s, [0-9,]+ states/s|(?m)([a-z] )\([0-9.]+ s\)$|("operations":)[0-9]+(,"violations":[0-9])|("labels":)\{[^}]*\}|(?m)(: )[0-9]+ operations in [0-9]+ programs, .*$`)

func standardInput(name string) (io.Reader, error) {
	switch name {
	case "":
		return nobody{}, nil
	case "endless":
		header := `{"format":"allocator-trace","version":2,"total_memory":1000,"streams":[0]}` + "\n"
		return io.MultiReader(strings.NewReader(header), endlessLine{}), nil
	}
	text, err := os.ReadFile(name)
	return bytes.NewReader(text), err
}

// endlessLine is an operation whose name never ends.
type endlessLine struct{}

func (endlessLine) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// nobody is a terminal at which nobody sits.
type nobody struct{}

func (nobody) Read([]byte) (int, error) { return 0, errors.New("nobody types anything") }

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	return errors.Join(err, os.WriteFile(to, text, 0o644))
}

func gzipFile(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(text)
	return errors.Join(err, w.Close(), os.WriteFile(file+".gz", packed.Bytes(), 0o644))
}

// TestOutputThatFails: when nobody takes the output that is an error too, of each command.
func TestOutputThatFails(t *testing.T) {
	trace, snapshot := absolute(t, "../../tests/golden/testdata/basic-1000.jsonl.gz"), absolute(t, "../../snapshot/report/testdata/rich.json")
	program := reserving(t, "1000")
	t.Chdir(t.TempDir())
	for _, line := range []string{
		"replay " + trace, "replay --json " + trace, "check " + trace, "check --json " + trace, "whatif " + snapshot, "whatif --json " + snapshot,
		"report --no-whatif " + snapshot, "report --no-whatif -o - " + snapshot, "report --no-whatif -o pages/ " + strings.Repeat(snapshot+" ", 3),
		"compare " + snapshot + " pytorch", "compare --json " + snapshot + " pytorch", "explore ties", "explore ties --json", "explore core_weak_retry", "soak --ops 10 --area core", "soak --ops 10 --area core --json",
		"fit --var A=1..1 -- " + program, "version", "record", "completion bash",
	} {
		var stderr bytes.Buffer
		status := run(strings.Fields(line), nil, failingWriter{}, &stderr)
		if status != statusBadInput || !strings.HasSuffix(stderr.String(), "gaugeblock: no room\n") {
			t.Errorf("%s: exit status %d, standard error %q", line, status, &stderr)
		}
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("no room") }

// TestJobsDoNotMatter: the output is the same however many traces are replayed at
// a time.
func TestJobsDoNotMatter(t *testing.T) {
	outputs := map[string]string{}
	for _, jobs := range []string{"1", "3", "16"} {
		var stdout, stderr bytes.Buffer
		if status := run([]string{"replay", "-j", jobs, "../../tests/golden/testdata/[gt]*"}, nil, &stdout, &stderr); status != statusExact {
			t.Fatalf("-j %s: exit status %d\n%s%s", jobs, status, &stdout, &stderr)
		}
		outputs[stdout.String()] = jobs
	}
	if len(outputs) != 1 {
		t.Errorf("%d different outputs", len(outputs))
	}
}
