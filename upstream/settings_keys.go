package upstream

import (
	"strconv"
	"strings"

	"gaugeblock/spec/settings"
)

// oldKeys has the minor version of PyTorch 2 that was the first to have a key, of the keys that
// the oldest known release has and PyTorch 2.0 has not.
var oldKeys = map[string]int{"expandable_segments": 1}

// NeededBy is the first minor version of PyTorch 2 that knows all keys of a settings string; 0 if
// all versions do, or if none is known to.
func NeededBy(text string) int {
	needed := 0
	for _, key := range settings.KeysOf(text) {
		needed = max(needed, keySince(key))
	}
	return needed
}

// keySince is the first minor version of PyTorch 2 that has a key.
func keySince(key string) int {
	for i, r := range releases {
		switch {
		case !r.Rules.Settings.Has(key):
		case i == 0:
			return oldKeys[key]
		default:
			minor, _ := strconv.Atoi(strings.TrimPrefix(r.Name, "2."))
			return minor
		}
	}
	return 0
}
