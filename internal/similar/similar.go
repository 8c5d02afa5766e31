// Package similar finds the name that a mistyped word may mean.
package similar

// To is the name that is most like a word, "" if none is like it: what the two have in common at the beginning and
// at the end is two thirds of the longer one or more. So one mistake in a row is found, and a word that is missing.
func To(word string, names []string) string {
	best, most := "", 0.0
	for _, name := range names {
		if like := likeness(word, name); like > most {
			best, most = name, like
		}
	}
	if most < 2.0/3 {
		return ""
	}
	return best
}

// Question asks whether that name was meant, "" if no name is like the word.
func Question(word string, names []string) string {
	name := To(word, names)
	if name == "" {
		return ""
	}
	return `, did you mean "` + name + `"?`
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
