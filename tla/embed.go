// Package tla holds the TLA+ specification for programs written in Go: its text, the
// list of its configurations, and what TLC has said of each (manifests).
package tla

import "embed"

// Files are the modules, the configurations and the manifests.
//
//go:embed *.tla *.cfg *.json manifests
var Files embed.FS
