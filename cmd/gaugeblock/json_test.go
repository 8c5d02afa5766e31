package main

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"
)

// TestPrintJSON: a value is one line, in which names are as they are, not as a page of HTML needs them.
func TestPrintJSON(t *testing.T) {
	var out bytes.Buffer
	w := &checkedWriter{to: &out}
	printJSON(w, map[string]string{"file": "<a>&b"})
	if out.String() != "{\"file\":\"<a>&b\"}\n" || w.err != nil {
		t.Errorf("%q, %v", &out, w.err)
	}
}

// TestNotMade: a folder that cannot be written is named once.
func TestNotMade(t *testing.T) {
	for _, err := range []error{errors.New("why"), &fs.PathError{Op: "open", Path: "other", Err: errors.New("why")}} {
		if got := notMade("a b", err); got.Error() != "a b cannot be written: why" {
			t.Errorf("%v", got)
		}
	}
}
