package tla

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// UpstreamFiles are the specification in upstream's mode: what PyTorch does where the reference
// deviates. Its modules extend those of Files.
//
//go:embed upstream
var UpstreamFiles embed.FS

// An UpstreamConfiguration shows a row of docs/deviations.md: TLC finds a property broken in what
// upstream does, and Length says after how many states.
type UpstreamConfiguration struct {
	Configuration
	// Row is what the row begins with.
	Row string `json:"row"`
}

// UpstreamConfigurations lists all of them, as they stand in upstream/configurations.json.
// The mirror is the module of the reference.
func UpstreamConfigurations() ([]UpstreamConfiguration, error) {
	text, err := UpstreamFiles.ReadFile("upstream/configurations.json")
	if err != nil {
		return nil, err
	}
	var list []UpstreamConfiguration
	return list, decode("upstream/configurations.json", text, &list)
}

// ReadUpstreamManifest is the manifest of such a configuration; nil if there is none.
func ReadUpstreamManifest(name string) (*Manifest, error) {
	file := "upstream/manifests/" + name + ".json"
	text, err := UpstreamFiles.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	return m, decode(file, text, m)
}

// CheckUpstreamTexts reports the first text that is not what TLC has read.
func (m *Manifest) CheckUpstreamTexts() error {
	for _, file := range slices.Sorted(maps.Keys(m.Texts)) {
		text, err := UpstreamFiles.ReadFile("upstream/" + file)
		if errors.Is(err, fs.ErrNotExist) {
			text, err = Files.ReadFile(file)
		}
		if err != nil {
			return fmt.Errorf("manifest %s: %w", m.Name, err)
		}
		if Hash(text) != m.Texts[file] {
			return fmt.Errorf("manifest %s: %s is not what TLC has read: run make tla-upstream", m.Name, file)
		}
	}
	return nil
}
