package history

import (
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/upstream"
)

// ReleasesOf are the releases that may have written a file, of those that decide the same
// here the newest; the newest first. What differs here is the order of free blocks of one
// size: all else that differs between releases is not in a snapshot, or decides nothing.
func ReleasesOf(v snapshot.Version) (fit []upstream.Release) {
	for _, r := range v.Releases() {
		if !slices.ContainsFunc(fit, func(f upstream.Release) bool { return f.Rules.Ties == r.Rules.Ties }) {
			fit = append(fit, r)
		}
	}
	return fit
}
