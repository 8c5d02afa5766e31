package main

import (
	"fmt"
	"strings"

	"gaugeblock/upstream"
)

// release is the flag --pytorch: whose rules are followed. The zero value: not given.
type release struct{ upstream.Version }

// UnmarshalText reads "2.13", "2.13.0+cu130" or "newest".
func (r *release) UnmarshalText(text []byte) (err error) {
	if string(text) == "newest" {
		newest := upstream.Newest()
		r.Version = upstream.Version{Release: newest, Text: newest.Name}
		return nil
	}
	r.Version, err = upstream.OfVersion(string(text))
	return err
}

func (r *release) given() bool { return r.Name != "" }

// releasesInWords are the releases that are known, a line each.
func releasesInWords() string {
	var lines []string
	for _, r := range upstream.Releases() {
		line := "  " + r.Name
		if r.Tried != "" {
			line += strings.Repeat(" ", max(1, 12-len(r.Name))) + "held against the libraries of " + r.Tried
		} else {
			line += strings.Repeat(" ", max(1, 12-len(r.Name))) + "nobody tried its libraries"
		}
		if r.Note != "" {
			line += ": " + r.Note
		}
		lines = append(lines, line)
	}
	return fmt.Sprintf("PyTorch's releases that are followed (--pytorch):\n%s\n", strings.Join(lines, "\n"))
}
