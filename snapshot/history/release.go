package history

import (
	"slices"
	"strconv"
	"strings"

	"gaugeblock/snapshot"
	"gaugeblock/upstream"
)

// ReleasesOf are the releases that may have written a file, of those that decide the same
// here the newest; the newest first. What differs here is the order of free blocks of one
// size: all else that differs between releases is not in a snapshot, or decides nothing.
func ReleasesOf(v snapshot.Version) []upstream.Release {
	var fit []upstream.Release
	for _, r := range slices.Backward(upstream.Releases()) {
		_, number, _ := strings.Cut(r.Name, ".")
		minor, err := strconv.Atoi(number)
		if err != nil || minor > v.Most || minor < v.Least {
			continue // a back-port is chosen by its name only
		}
		if !slices.ContainsFunc(fit, func(f upstream.Release) bool { return f.Rules.Ties == r.Rules.Ties }) {
			fit = append(fit, r)
		}
	}
	switch {
	case len(fit) > 0:
		return fit
	case v.Least > 0 && v.Most == snapshot.Newest:
		return []upstream.Release{upstream.Newest()} // a newer one than all that are known
	}
	return upstream.Releases()[:1]
}
