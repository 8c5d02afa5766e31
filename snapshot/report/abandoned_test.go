package report

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAbandoned: a page that is abandoned at any time is there whole or not at all, and nothing
// else is.
func TestAbandoned(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	written := 0
	for i := range 300 {
		os.Remove(path)
		o, err := OpenOutput(path)
		if err != nil {
			t.Fatal(err)
		}
		begun, done := make(chan bool), make(chan error)
		go func() { close(begun); done <- o.Write(&Page{Source: "x"}) }()
		<-begun
		for range i * 100 {
			_ = o.Exists() // some time goes by
		}
		o.Abandon()
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 1 || len(left) == 1 && left[0].Name() != "page.html" {
			t.Fatalf("left: %v, %v", left, err)
		}
		if len(left) == 1 {
			written++
		}
		if err := <-done; (err == nil) != (len(left) == 1) {
			t.Fatalf("left: %v, and Write returned %v", left, err)
		}
		if after, err := os.ReadDir(dir); err != nil || len(after) != len(left) {
			t.Fatalf("afterwards: %v, %v", after, err)
		}
	}
	if written == 300 {
		t.Error("no page was abandoned in time")
	}
}
