package report

import (
	"strings"
	"testing"
)

// TestShortenInvalid: a long text of bytes that begin no character leaves nothing.
func TestShortenInvalid(t *testing.T) {
	if got := shorten(strings.Repeat("\x80", 5*maxText)); got != "" {
		t.Errorf("%q", got)
	}
}

// TestShortenedTexts: a text that is longer than is shown ends, or begins, with an ellipsis,
// whatever bytes its characters have.
func TestShortenedTexts(t *testing.T) {
	for _, character := range []string{"a", "\u00e4", "\u20ac", "\U0001f600"} {
		for length, cut := range map[int]bool{1: false, maxText - 1: false, maxText: false, maxText + 1: true, 5 * maxText: true} {
			want, wantEnd := strings.Repeat(character, length), strings.Repeat(character, length)
			if cut {
				want, wantEnd = "\u2026"+strings.Repeat(character, maxText-1), strings.Repeat(character, maxText-1)+"\u2026"
			}
			text := strings.Repeat(character, length)
			if got := shorten(text); got != want {
				t.Errorf("%d times %q: %q", length, character, got)
			}
			if got := shortenEnd(text, maxText); got != wantEnd {
				t.Errorf("%d times %q, without its end: %q", length, character, got)
			}
		}
	}
}
