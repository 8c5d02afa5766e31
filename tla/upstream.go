package tla

import "embed"

// UpstreamFiles are the specification in upstream's mode: what PyTorch does where the reference
// deviates. Its modules extend those of Files.
//
//go:embed upstream
var UpstreamFiles embed.FS

// An UpstreamConfiguration shows a deviation (upstream.Deviations): TLC finds a property broken in
// what upstream does, and Length says after how many states.
type UpstreamConfiguration struct {
	Configuration
	// Row is its ID.
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
	return readManifest(UpstreamFiles, "upstream/manifests/"+name+".json")
}
