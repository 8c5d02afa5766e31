package broken

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gaugeblock/internal/rewrite"
)

// A Breakage is a way to break a package: a file of it with a piece replaced, or several. It is
// written down as a sentence, lines of `key: value`, and each piece, "-- before --"
// and "-- after --".
type Breakage struct {
	Keys   map[string]string
	file   string // relative to the root of the module
	pieces []piece
}

type piece struct{ before, after string }

// Read reads a breakage. The key "file" says which file is meant.
func Read(path string) (*Breakage, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	head, pieces, _ := strings.Cut(string(text), "-- before --\n")
	b := &Breakage{Keys: map[string]string{}}
	for text := range strings.SplitSeq(pieces, "-- before --\n") {
		before, after, found := strings.Cut(text, "-- after --\n")
		if !found {
			return nil, fmt.Errorf("%s has no piece before and after", path)
		}
		b.pieces = append(b.pieces, piece{before, after})
	}
	for line := range strings.Lines(head) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), ": "); found {
			b.Keys[key] = value
		}
	}
	b.file = b.Keys["file"]
	return b, nil
}

// Apply is the file's path, relative to the root of the module, and its text with the pieces
// replaced. Each piece must be there once.
func (b *Breakage) Apply(root string) (file, changed string, err error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(b.file)))
	if err != nil {
		return "", "", err
	}
	changed = string(text)
	for _, p := range b.pieces {
		if n := strings.Count(changed, p.before); n != 1 {
			return "", "", fmt.Errorf("%s has the piece that is to be replaced %d times, not once:\n%s", b.file, n, p.before)
		}
		changed = strings.Replace(changed, p.before, p.after, 1)
	}
	return b.file, changed, nil
}

// Overlay writes to dir what makes a build see the file with the pieces replaced,
// and returns the argument of go build's -overlay.
func (b *Breakage) Overlay(root, dir string) (string, error) {
	file, text, err := b.Apply(root)
	if err != nil {
		return "", err
	}
	return rewrite.Overlay(dir, map[string]string{filepath.Join(root, filepath.FromSlash(file)): text})
}

// Build builds a package of the module with the pieces replaced, by go build or go test -c with more
// flags, and returns the file, which is in dir. The working directory is a package of tests.
func (b *Breakage) Build(dir, source string, verb ...string) (string, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	overlay, err := b.Overlay(root, dir)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "built")
	gobuild := exec.Command("go", append(verb, "-overlay", overlay, "-ldflags=-s -w", "-o", file, source)...)
	gobuild.Dir = root
	if out, err := gobuild.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return file, nil
}
