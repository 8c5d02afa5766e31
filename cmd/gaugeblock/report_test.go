package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot/record"
)

const twoStreams = "../../snapshot/whatif/testdata/snapshots/two_streams.default.nolimit.pickle.gz"

// TestReport: the page is written whole or not at all.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	damaged := filepath.Join(dir, "damaged.pickle")
	if err := os.WriteFile(damaged, []byte("\x80\x04}q"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		args   []string
		status int
		says   string   // on standard error
		page   []string // what is in it; nil: there is none
	}{
		{"a page", []string{twoStreams}, statusExact, "", []string{`"source":"two_streams.default.nolimit.pickle.gz"`, `"advice":"`}},
		{"no other settings", []string{twoStreams, "--no-whatif"}, statusExact, "", []string{`"whatif":null`}},
		{"under a limit", []string{twoStreams, "--limit", "300MiB"}, statusExact, "", []string{`"limit":314572800`}},
		{"no such file", []string{"missing.pickle"}, statusBadInput, "missing.pickle", nil},
		{"not a snapshot", []string{damaged}, statusBadInput, "damaged.pickle: ", nil},
		{"no such device", []string{twoStreams, "--device", "3", "--no-whatif"}, statusBadInput, "nothing of this device", nil},
		{"a trace", []string{"../../tests/suites/golden/testdata/basic-1000.jsonl.gz"}, statusBadInput, "a trace, not a memory snapshot", nil},
		{"a directory", []string{dir}, statusBadInput, dir + ": is a directory", nil},
		{"a negative device", []string{twoStreams, "--device=-2"}, statusBadInput, "--device=-2 is negative", nil},
		{"not a limit", []string{twoStreams, "--limit", "much"}, statusBadInput, `"much" is not a limit`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "report.html")
			var stdout, stderr bytes.Buffer
			status := run(append([]string{"report", "-o", out}, test.args...), strings.NewReader(""), &stdout, &stderr)
			if status != test.status || !strings.Contains(stderr.String(), test.says) || stdout.Len() > 0 {
				t.Errorf("status %d, says %q, prints %q", status, stderr.String(), stdout.String())
			}
			left, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			if want := min(1, len(test.page)); len(left) != want {
				t.Fatalf("%d files are left, want %d", len(left), want)
			}
			for _, part := range test.page {
				if page, err := os.ReadFile(out); err != nil || !strings.Contains(string(page), part) {
					t.Errorf("%s is not in the page (%v)", part, err)
				}
			}
		})
	}
}

// TestReportPlaces: what is no file is not replaced, and a link leads to the page.
func TestReportPlaces(t *testing.T) {
	report := func(out string) (int, string) {
		var stdout, stderr bytes.Buffer
		status := run([]string{"report", twoStreams, "--no-whatif", "-o", out}, strings.NewReader(""), &stdout, &stderr)
		return status, stderr.String()
	}
	t.Run("a socket", func(t *testing.T) { // no device: a mistake would replace it for all
		path := filepath.Join(t.TempDir(), "s")
		socket, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		status, says := report(path)
		there, err := os.Stat(path)
		if status != statusBadInput || err != nil || there.Mode().Type() != os.ModeSocket {
			t.Errorf("status %d, %s: the socket is now %v (%v)", status, says, there, err)
		}
	})
	t.Run("a link to a file", func(t *testing.T) {
		dir := t.TempDir()
		page, link := filepath.Join(dir, "page"), filepath.Join(dir, "link")
		if err := errors.Join(os.WriteFile(page, nil, 0o600), os.Symlink("page", link)); err != nil {
			t.Fatal(err)
		}
		status, says := report(link)
		text, err := os.ReadFile(page)
		if status != statusExact || err != nil || len(text) == 0 {
			t.Errorf("status %d, %s: the page has %d bytes (%v)", status, says, len(text), err)
		}
	})
	for _, test := range []struct{ name, out, says string }{
		{"a directory", ".", ".: is a directory"},
		{"no such directory", "nowhere/page.html", "nowhere/page.html cannot be written: no such file or directory"},
		{"no name", "", "--out names no file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if status, says := report(test.out); status != statusBadInput || !strings.Contains(says, test.says) {
				t.Errorf("status %d, says %q, want %q", status, says, test.says)
			}
		})
	}
}

// TestReportAgain: the same snapshot gives the same page, byte for byte, also when it
// is read from standard input and written to standard output.
func TestReportAgain(t *testing.T) {
	text, err := os.ReadFile(twoStreams)
	if err != nil {
		t.Fatal(err)
	}
	var pages [2]string
	for i := range pages {
		var stdout, stderr bytes.Buffer
		if status := run([]string{"report", "-", "-o", "-"}, bytes.NewReader(text), &stdout, &stderr); status != statusExact {
			t.Fatalf("status %d: %s", status, stderr.String())
		}
		pages[i] = stdout.String()
	}
	if diff := cmp.Diff(pages[0], pages[1]); diff != "" || !strings.HasPrefix(pages[0], "<!doctype html>") {
		t.Error(diff)
	}
}

// TestRecord: what is printed is the recorder.
func TestRecord(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := run([]string{"record"}, strings.NewReader(""), &stdout, &stderr); status != statusExact || stdout.String() != record.Recorder {
		t.Errorf("status %d, %d bytes: %s", status, stdout.Len(), stderr.String())
	}
}
