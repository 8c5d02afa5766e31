package settings

import (
	"slices"
	"strings"

	"gaugeblock/internal/similar"
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

// similarKey is the key that is most like the text, "" if none is like it.
func (g Grammar) similarKey(text string) string {
	text, _, _ = strings.Cut(strings.ToLower(text), "=")
	var names []string
	for _, k := range keys {
		if g.has(k) {
			names = append(names, k.name, k.alias)
		}
	}
	return similar.To(text, names)
}
