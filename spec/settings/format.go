package settings

import (
	"strconv"
	"strings"

	"gaugeblock/spec"
)

// Format is Grammar.Format for 2.11.
func Format(c spec.Config, g spec.Geometry) string { return Grammar{}.Format(c, g) }

// Format writes the settings as the string that Parse makes them of: each key whose
// value is not the default, in the order of keys. Two Configs that agree in everything
// but Last give the same string. The Config must have been made with the same sizes g;
// sizes that no settings string can give are rounded down to whole g.MiB. Keys that the
// release does not have are written all the same.
func (grammar Grammar) Format(c spec.Config, g spec.Geometry) string {
	d := spec.DefaultConfig(g)
	var settings []string
	for _, k := range keys {
		if value := k.format(&c, &d, release{grammar, g}); value != "" {
			settings = append(settings, k.name+":"+value)
		}
	}
	return strings.Join(settings, ",")
}

// size writes a size in bytes in units of g.MiB.
func size(field func(*spec.Config) *uint64) formatter {
	return func(c, d *spec.Config, r release) string {
		if *field(c) == *field(d) {
			return ""
		}
		return strconv.FormatUint(*field(c)/r.MiB, 10)
	}
}

// number writes a fraction.
func number(field func(*spec.Config) *float64) formatter {
	return func(c, d *spec.Config, _ release) string {
		if *field(c) == *field(d) {
			return ""
		}
		return strconv.FormatFloat(*field(c), 'g', -1, 64)
	}
}

// formatMaxNonSplitRounding: the default is the large segment size in force.
func formatMaxNonSplitRounding(c, _ *spec.Config, r release) string {
	if c.MaxNonSplitRounding == c.LargeSegmentSize {
		return ""
	}
	return strconv.FormatUint(c.MaxNonSplitRounding/r.MiB, 10)
}

func formatDivisions(c, d *spec.Config, r release) string {
	if c.Divisions == d.Divisions {
		return ""
	}
	return divisionsInWords(c.Divisions, r.Grammar)
}

func formatPinnedRegisterThreads(c, d *spec.Config, _ release) string {
	if c.Pinned.NumRegisterThreads == d.Pinned.NumRegisterThreads {
		return ""
	}
	return strconv.FormatUint(c.Pinned.NumRegisterThreads, 10)
}
