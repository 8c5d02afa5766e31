package broken

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Breakage is a way to break a package: a file of it with a piece replaced. It is
// written down as a sentence, lines of `key: value`, and the piece, "-- before --"
// and "-- after --".
type Breakage struct {
	Keys   map[string]string
	file   string // relative to the root of the module
	before string
	after  string
}

// Read reads a breakage. The key "file" says which file is meant.
func Read(path string) (*Breakage, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	head, pieces, _ := strings.Cut(string(text), "-- before --\n")
	b := &Breakage{Keys: map[string]string{}}
	var found bool
	if b.before, b.after, found = strings.Cut(pieces, "-- after --\n"); !found {
		return nil, fmt.Errorf("%s has no piece before and after", path)
	}
	for line := range strings.Lines(head) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), ": "); found {
			b.Keys[key] = value
		}
	}
	b.file = b.Keys["file"]
	return b, nil
}

// Overlay writes to dir what makes a build see the file with the piece replaced,
// and returns the argument of go build's -overlay. The piece must be there once.
func (b *Breakage) Overlay(root, dir string) (string, error) {
	file := filepath.Join(root, filepath.FromSlash(b.file))
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), b.before); n != 1 {
		return "", fmt.Errorf("%s has the piece that is to be replaced %d times, not once", b.file, n)
	}
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), b.before, b.after, 1)), 0o644); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, overlay, 0o644)
}
