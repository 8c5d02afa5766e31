package brief

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func long(n int) string { return strings.Repeat("ü", n) }

func loud(text string) string { return "<" + text + ">" }

// TestWrite: which lines there are, with their labels, and how long they are at most.
func TestWrite(t *testing.T) {
	cut := func(n int) string { return long(n) + "..." }
	for what, test := range map[string]struct {
		lines Lines
		want  string
	}{
		"all":        {Lines{"a", "b", "c", "e", "d"}, "<a>\nCause: b\nPeak:  c\nDiff:  e\nTry:   <d>\n"},
		"no cause":   {Lines{Happened: "a", Peak: "c", Try: "d"}, "<a>\nPeak:  c\nTry:   <d>\n"},
		"no advice":  {Lines{Happened: "a", Cause: "b"}, "<a>\nCause: b\n"},
		"nothing":    {Lines{}, ""},
		"they fit":   {Lines{long(100), long(93), long(93), long(93), long(93)}, "<" + long(100) + ">\nCause: " + long(93) + "\nPeak:  " + long(93) + "\nDiff:  " + long(93) + "\nTry:   <" + long(93) + ">\n"},
		"they don't": {Lines{long(101), long(94), long(95), long(94), long(94)}, "<" + cut(97) + ">\nCause: " + cut(90) + "\nPeak:  " + cut(90) + "\nDiff:  " + cut(90) + "\nTry:   <" + cut(90) + ">\n"},
	} {
		var b strings.Builder
		if err := test.lines.Write(&b, loud); err != nil || b.String() != test.want {
			t.Errorf("%s: %v\n%s\nis not\n%s", what, err, b.String(), test.want)
		}
	}
	var b strings.Builder
	if err := (Lines{Happened: "a", Try: "d"}).Write(&b, nil); err != nil || b.String() != "a\nTry:   d\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	wrong := errors.New("wrong")
	if err := (Lines{Happened: "a"}).Write(failing{wrong}, nil); err != wrong {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestWriteBehind: the lines stand behind a prefix, and nothing of them is cut off.
func TestWriteBehind(t *testing.T) {
	var b strings.Builder
	l := Lines{Happened: "a", Cause: strings.Repeat("word ", 19) + "x", Try: strings.Repeat("word ", 19) + "xy end"}
	l.WriteBehind(&b, "p: ", loud)
	want := "p: <a>\np: " + strings.Repeat("word ", 19) + "x\np: <" + strings.TrimSpace(strings.Repeat("word ", 19)) + " xy>\np: <  end>\n"
	if b.String() != want {
		t.Errorf("%s\nis not\n%s", b.String(), want)
	}
}

// TestWrapped: lines break at blanks, those behind the first are indented, and a long word has a line.
func TestWrapped(t *testing.T) {
	for _, test := range []struct {
		text string
		most int
		want []string
	}{
		{"", 5, nil}, {"  ", 5, nil}, {"a b", 3, []string{"a b"}}, {"a  b", 3, []string{"a b"}}, {"a b", 2, []string{"a", "  b"}},
		{"a b c", 3, []string{"a b", "  c"}}, {"a b c d", 5, []string{"a b c", "  d"}}, {"üü üü", 5, []string{"üü üü"}},
		{"a longest b", 4, []string{"a", "  longest", "  b"}},
	} {
		if got := wrapped(test.text, test.most); !slices.Equal(got, test.want) {
			t.Errorf("%q in %d: %q, not %q", test.text, test.most, got, test.want)
		}
	}
}

// TestFits: of several forms the first that fits is taken, or else the last.
func TestFits(t *testing.T) {
	if !Fits(long(93)) || Fits(long(94)) {
		t.Error("what fits beside a label")
	}
	if a, b, c := FirstThatFits(long(94), long(93), "c"), FirstThatFits("a", "b"), FirstThatFits(long(94), long(95)); a != long(93) || b != "a" || c != long(95) {
		t.Error(a, b, c)
	}
	if a, b := Headline(long(101), long(100), "c"), Headline(long(101), long(102)); a != long(100) || b != long(102) {
		t.Error(a, b)
	}
}
