package trace

import "slices"

// A wordSet finds the string of some bytes among a hundred words or so, faster than a map
// with its hash of all bytes: words of one length and the same first and last byte are few.
type wordSet struct {
	buckets [512][]string
}

func (w *wordSet) bucket(b []byte) *[]string {
	if len(b) == 0 {
		return &w.buckets[0]
	}
	return &w.buckets[(len(b)*67+int(b[0])*5+int(b[len(b)-1]))%len(w.buckets)]
}

func (w *wordSet) add(word string) {
	if b := w.bucket([]byte(word)); !slices.Contains(*b, word) {
		*b = append(*b, word)
	}
}

// text is the string of some bytes. It needs no memory for a word of the set.
func (w *wordSet) text(b []byte) string {
	for _, word := range *w.bucket(b) {
		if word == string(b) {
			return word
		}
	}
	return string(b)
}
