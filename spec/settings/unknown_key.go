package settings

import (
	"slices"
	"strings"
)

// What an error says of a key that is not known: which one may have been meant.

// unknownKey is the reason of the error.
func (g Grammar) unknownKey(text string) string {
	if name, _, found := strings.Cut(text, "="); found && g.setter(name) != nil {
		return "unknown key; write ':' instead of '='"
	}
	if slices.ContainsFunc(keys, func(k key) bool { return k.name == text || k.alias == text }) {
		return "unknown key; other releases have it"
	}
	if name := g.similarKey(text); name != "" {
		return "unknown key; did you mean " + name + "?"
	}
	return "unknown key"
}

// similarKey is the key that is most like the text, "" if none is like it: what the two have
// in common at the beginning and at the end is two thirds of the longer one or more. So one
// mistake in a row is found, and a word that is missing.
func (g Grammar) similarKey(text string) string {
	text, _, _ = strings.Cut(strings.ToLower(text), "=")
	best, most := "", 0.0
	for _, k := range keys {
		if !g.has(k) {
			continue
		}
		for _, name := range []string{k.name, k.alias} {
			if like := likeness(text, name); like > most {
				best, most = name, like
			}
		}
	}
	if most < 2.0/3 {
		return ""
	}
	return best
}

// likeness is the share of the longer of two texts that they have in common at the beginning
// and at the end, 0 to 1.
func likeness(a, b string) float64 {
	shorter, longer := min(len(a), len(b)), max(len(a), len(b))
	if shorter == 0 {
		return 0
	}
	start := 0
	for start < shorter && a[start] == b[start] {
		start++
	}
	end := 0
	for end < shorter-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return float64(start+end) / float64(longer)
}
