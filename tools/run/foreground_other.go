//go:build !linux

package run

// isForeground: no program is run here.
func isForeground() bool { return false }
