package snapshot

import (
	"maps"
	"slices"

	"gaugeblock/upstream"
)

// Which versions of PyTorch write such a file; package upstream knows the keys of each.

// Version bounds the version of PyTorch that wrote a file: 2.Least or later, and 2.Most
// or earlier. Newest stands for no bound. A Least of 0 also stands for versions before 2.0.
type Version struct{ Least, Most int }

// Newest is a Version.Most that says nothing.
const Newest = 1 << 30

// entryKeys are keys of trace entries. They have numbers, since each entry has some.
type entryKeys uint8

const (
	keyTime entryKeys = 1 << iota
	keyCompileContext
	keyUserMetadata
	keyInternalMetadata
	keyPool
	keyAnnotate // an action
)

// entryKeyNames are the names in upstream, by the bit of the key.
var entryKeyNames = []string{
	"entry.time_us", "entry.compile_context", "entry.user_metadata", "entry.internal_metadata", "entry.pool_id", "entry.annotate",
}

// see notes keys of a file, by which its version is told.
func (c *converter) see(prefix string, items []value, keys ...string) {
	for _, key := range keys {
		if c.get(items, key).kind != none {
			c.seen[prefix+key] = true
		}
	}
}

// version is that of the keys that were seen.
func (c *converter) version() Version {
	seen := slices.Collect(maps.Keys(c.seen))
	for i, name := range entryKeyNames {
		if c.entryKeys&(1<<i) != 0 {
			seen = append(seen, name)
		}
	}
	least, most := upstream.OfKeys(seen)
	if most < 0 {
		most = Newest
	}
	return Version{least, most}
}

// Releases are the known releases that may have written the file, the newest first, or the
// nearest one if none of them is known.
func (v Version) Releases() []upstream.Release { return upstream.Between(v.Least, v.Most) }
