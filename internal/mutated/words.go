package mutated

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// Words is a text of these words in which one is left out, doubled, in another's place, another's copy, or one of others.
func Words(r *rand.Rand, words []string, others ...string) string {
	at, other, kinds := r.IntN(len(words)), r.IntN(len(words)), 4
	if len(others) > 0 {
		kinds++
	}
	changed := slices.Clone(words)
	switch r.IntN(kinds) {
	case 0:
		changed[at] = ""
	case 1:
		changed[at] += words[at]
	case 2:
		changed[at], changed[other] = changed[other], changed[at]
	case 3:
		changed[at] = words[other]
	case 4:
		changed[at] = others[r.IntN(len(others))]
	}
	return strings.Join(changed, "")
}
