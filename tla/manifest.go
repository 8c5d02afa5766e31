package tla

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
)

// A Manifest is what TLC found out about a configuration. It is made by "make tla",
// and by nothing else.
type Manifest struct {
	Name string `json:"name"`
	// Uses is the SHA-256 of the canonical form of what TLC has read.
	Uses string `json:"uses"`
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

// Uses is how a manifest remembers what its configuration uses. upstream: in upstream's mode.
func Uses(c Configuration, upstream bool) (string, error) {
	text, err := Canonical(c, Reader(upstream))
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]), err
}

// CheckUses is an error if the configuration does not use what TLC has read.
func (m *Manifest) CheckUses(c Configuration, upstream bool) error {
	uses, err := Uses(c, upstream)
	if err == nil && uses != m.Uses {
		err = errors.New("what it uses is not what TLC has read: run make tla, or make tla-upstream")
	}
	if err != nil {
		return fmt.Errorf("manifest %s: %w", m.Name, err)
	}
	return nil
}
