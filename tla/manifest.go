package tla

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// A Manifest is what TLC found out about a configuration. It is made by "make tla",
// and by nothing else.
type Manifest struct {
	Name string `json:"name"`
	// Texts are the files that TLC has read, and the SHA-256 of each.
	Texts map[string]string `json:"texts"`
	// Verdict is "ok", or the property that does not hold.
	Verdict string `json:"verdict"`
	// Trace is how many states TLC's counterexample has.
	Trace int `json:"trace,omitempty"`
	// Steps are the labels of the counterexample, of a configuration in upstream's mode.
	Steps []string `json:"steps,omitempty"`

	// What there is, if the verdict is ok. See package digest for the digests.
	States      int    `json:"states,omitempty"` // distinct
	Edges       int    `json:"edges,omitempty"`  // distinct, with labels
	Generated   int    `json:"generated,omitempty"`
	Depth       int    `json:"depth,omitempty"`
	StateDigest string `json:"state_digest,omitempty"`
	EdgeDigest  string `json:"edge_digest,omitempty"`

	// Summary is TLC's own words.
	Summary []string `json:"summary"`
}

// ReadManifest is the manifest of a configuration; nil if there is none.
func ReadManifest(name string) (*Manifest, error) {
	return readManifest(Files, "manifests/"+name+".json")
}

func readManifest(files embed.FS, file string) (*Manifest, error) {
	text, err := files.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	return m, decode(file, text, m)
}

// Hash is how a manifest remembers a text.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// CheckTexts reports the first text that is not what TLC has read.
func (m *Manifest) CheckTexts() error { return m.checkTexts(Files.ReadFile, "make tla") }

// checkTexts does so with the texts that read finds. The command makes the manifest anew.
func (m *Manifest) checkTexts(read func(file string) ([]byte, error), command string) error {
	for _, file := range slices.Sorted(maps.Keys(m.Texts)) {
		text, err := read(file)
		if err != nil {
			return fmt.Errorf("manifest %s: %w", m.Name, err)
		}
		if Hash(text) != m.Texts[file] {
			return fmt.Errorf("manifest %s: %s is not what TLC has read: run %s", m.Name, file, command)
		}
	}
	return nil
}
