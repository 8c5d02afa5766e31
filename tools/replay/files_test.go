package replay_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/tools/replay"
)

func TestFindTraces(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{
		"b.jsonl", "a.jsonl.gz", "notes.txt", "deep/er/c.jsonl", "deep/b.jsonl.gz", "deep.jsonl/d.jsonl", "odd[1].jsonl", "none/notes.txt",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	type list = []string
	for _, c := range []struct {
		args    list
		want    list
		wantErr string
	}{
		{list{"notes.txt"}, list{"notes.txt"}, ""},
		{list{"b.jsonl", "a.jsonl.gz", "b.jsonl"}, list{"b.jsonl", "a.jsonl.gz", "b.jsonl"}, ""},
		{list{"."}, list{"a.jsonl.gz", "b.jsonl", "deep.jsonl/d.jsonl", "deep/b.jsonl.gz", "deep/er/c.jsonl", "odd[1].jsonl"}, ""},
		{list{"deep/"}, list{"deep/b.jsonl.gz", "deep/er/c.jsonl"}, ""},
		{list{"*.jsonl*"}, list{"a.jsonl.gz", "b.jsonl", "deep.jsonl/d.jsonl", "odd[1].jsonl"}, ""},
		{list{"d*"}, list{"deep/b.jsonl.gz", "deep/er/c.jsonl", "deep.jsonl/d.jsonl"}, ""},
		{list{"odd[1].jsonl"}, list{"odd[1].jsonl"}, ""},
		{list{"-", "b.jsonl"}, list{"-", "b.jsonl"}, ""},
		{list{"-", "-"}, nil, "-: standard input can be read only once"},
		{list{"b.jsonl", "missing.jsonl"}, nil, "missing.jsonl: no such file or directory"},
		{list{"x*.jsonl"}, nil, "x*.jsonl: no file matches this pattern"},
		{list{"[x"}, nil, "[x: syntax error in pattern"},
		{list{"none"}, nil, "none: no trace (*.jsonl, *.jsonl.gz) in or below this directory"},
	} {
		got, err := replay.FindTraces(c.args)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q:\n%s", c.args, diff)
		}
		message := ""
		var input *replay.InputError
		if errors.As(err, &input) {
			message = err.Error()
		} else if err != nil {
			t.Errorf("%q: not an InputError: %v", c.args, err)
		}
		if message != c.wantErr {
			t.Errorf("%q: error %q, want %q", c.args, message, c.wantErr)
		}
	}
}

// TestFindTracesLeavesOutPipes: a FIFO in a folder, or that a pattern matches, is not read: it
// may wait for ever. One that is named is.
func TestFindTracesLeavesOutPipes(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ argument, want string }{
		{dir, file}, {filepath.Join(dir, "*.jsonl"), file}, {pipe, pipe},
	} {
		got, err := replay.FindTraces([]string{test.argument})
		if err != nil || len(got) != 1 || got[0] != test.want {
			t.Errorf("%s: %q, %v", test.argument, got, err)
		}
	}
	if _, err := replay.FindTraces([]string{filepath.Join(dir, "b*")}); err == nil {
		t.Error("a pattern that matches a FIFO alone is no error")
	}
}
