package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutputs: links are followed, whether their targets are absolute or not, and what exists and
// is no file is written into.
func TestOutputs(t *testing.T) {
	folder := t.TempDir()
	page := filepath.Join(folder, "page.html")
	for link, to := range map[string]string{"relative": "page.html", "absolute": page} {
		link = filepath.Join(folder, link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		o, err := OpenOutput(link)
		if err != nil || o.target != page || o.Exists() || o.IsReport() {
			t.Fatalf("%s: %+v, %v", link, o, err)
		}
		if err := o.Write(&Page{}); err != nil {
			t.Fatal(err)
		}
		input, err := os.Stat(page)
		if err != nil {
			t.Fatal(err)
		}
		own, err := os.Stat(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{link, page} {
			if _, err := OpenOutput(path, own, input); err == nil || !strings.Contains(err.Error(), "is the input, and is not overwritten: name another file with -o") {
				t.Errorf("onto the input: %v", err)
			}
			if _, err := OpenOutput(path, own); err != nil {
				t.Errorf("onto another file: %v", err)
			}
		}
		again, err := OpenOutput(link)
		if err != nil || !again.Exists() || !again.IsReport() {
			t.Errorf("%s: exists %v, is a report %v: %v", link, again.Exists(), again.IsReport(), err)
		}
		if err := os.Remove(page); err != nil {
			t.Fatal(err)
		}
	}
	o, err := OpenOutput(os.DevNull)
	if err != nil || o.Exists() {
		t.Fatalf("%+v, %v", o, err)
	}
	if _, err = OpenOutput(filepath.Join(folder, "none", "page.html")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "page.html cannot be written") {
		t.Errorf("a folder that is not there: %v", err)
	}
}
