package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// Level is how much is asked of an allocator. Each level includes those below it.
type Level int

const (
	// Unsafe is reached by every allocator.
	Unsafe Level = iota
	// Safe: no two owners have the same bytes, none gets memory that others' work may
	// still use, misuse is refused and changes nothing, nothing is lost when driver
	// calls fail, everything is returned in the end, and what the allocator says of
	// itself is true.
	Safe
	// Caching: memory that was freed is used again without the driver, cut and
	// merged as needed, and no more is held than a small multiple of what was needed.
	Caching
	// Exact: the allocator makes the same decisions as another one, call by call and
	// address by address.
	Exact
)

var levelNames = [...]string{"unsafe", "safe", "caching", "exact"}

// String is the level's name.
func (l Level) String() string {
	if l < 0 || int(l) >= len(levelNames) {
		return fmt.Sprintf("level %d", int(l))
	}
	return levelNames[l]
}

// MarshalText makes the name what JSON has.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a name.
func (l *Level) UnmarshalText(text []byte) error {
	i := slices.Index(levelNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("there is no level %q; there are %s", text, strings.Join(levelNames[:], ", "))
	}
	*l = Level(i)
	return nil
}
