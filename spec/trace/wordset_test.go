package trace

import (
	"strings"
	"testing"
)

func TestWordSet(t *testing.T) {
	// two in one bucket
	words := []string{"", "a", "op", "id", "alloc", "allbc", "free_requested", "free_completed"}
	var w wordSet
	for _, word := range words {
		w.add(word)
	}
	for _, word := range append(words, "b", "opp", "free_xequested", strings.Repeat("long", 1000), "\xff") {
		if got := w.text([]byte(word)); got != word {
			t.Errorf("text(%q) = %q", word, got)
		}
	}
	var found string // so that the string is needed
	for _, word := range words {
		b := []byte(word)
		if n := testing.AllocsPerRun(10, func() { found = w.text(b) }); n != 0 || found != word {
			t.Errorf("%q takes memory %v times", word, n)
		}
	}
}

// Most lines have only such words: a number of them in one bucket would make each slow.
func TestCommonTextsAreSpread(t *testing.T) {
	for _, bucket := range commonTexts.buckets {
		if len(bucket) > 3 {
			t.Errorf("in one bucket: %q", bucket)
		}
	}
}

// TestEveryShortText: all texts of two bytes are found, whatever bucket they are in.
func TestEveryShortText(t *testing.T) {
	var w wordSet
	for a := range 256 {
		for b := range 256 {
			text := string([]byte{byte(a), byte(b)})
			w.add(text)
			if got := w.text([]byte(text)); got != text {
				t.Fatalf("%q is read as %q", text, got)
			}
		}
	}
}
