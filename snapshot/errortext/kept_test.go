package errortext

import (
	"fmt"
	"gaugeblock/internal/kept"
	"regexp"
	"strings"
	"testing"
)

// TestKept: all that is said of the texts of TestConclusions stays as it was, also if one of their numbers is half as large,
// or twice, or a sentence is not there. testdata/answers.txt has a checksum of it for each text.
//
//	go test ./snapshot/errortext -run TestKept -rewrite-answers
func TestKept(t *testing.T) {
	var got strings.Builder
	for _, c := range conclusions() {
		said := ""
		for _, text := range variants(c.text) {
			said += say(text)
		}
		fmt.Fprintf(&got, "%s %s\n", kept.Sum(said), c.what)
	}
	kept.Compare(t, "testdata/answers.txt", got.String())
}

// say is all that is said of a text.
func say(text string) (said string) {
	for _, m := range FindAll(text) {
		said += fmt.Sprintf("%s %v %d %+v %v %v %v\n%s\n", m.Cause(), m.Sure(), m.Device, m.Brief(), m.Reserved(), m.Outside(), m.Elsewhere(), m.Explain())
	}
	return said + NoError(text)
}

var sizeInText = regexp.MustCompile(`\d+\.\d\d`)

// variants are a text, and it with one change each.
func variants(text string) (list []string) {
	list = append(list, text)
	for _, at := range sizeInText.FindAllStringIndex(text, -1) {
		var size float64
		fmt.Sscan(text[at[0]:at[1]], &size)
		for _, changed := range []float64{size / 2, size * 2, size + 0.01} {
			list = append(list, fmt.Sprintf("%s%.2f%s", text[:at[0]], changed, text[at[1]:]))
		}
	}
	sentences := strings.SplitAfter(text, ". ")
	for i := range sentences {
		list = append(list, strings.Join(sentences[:i], "")+strings.Join(sentences[i+1:], ""))
	}
	return list
}

// TestDecode: a text of UTF-16 with its mark is decoded, and any other is as it is.
func TestDecode(t *testing.T) {
	for raw, want := range map[string]string{
		"":                         "",
		"a":                        "a",
		"ab":                       "ab",
		"\xff\xfea\x00\x53\x66":    "a\u6653",
		"\xfe\xff\x00a\x66\x53":    "a\u6653",
		"\xff\xfea\x00b":           "a",
		"\xff\xfe\x3d\xd8\x00\xde": "\U0001f600",
		"\xff\xff\x00a":            "\xff\xff\x00a",
		"\xfe\xfe\x00a":            "\xfe\xfe\x00a",
		"\x00\xfea\x00":            "\x00\xfea\x00",
		"\x00\xff\x00a":            "\x00\xff\x00a",
	} {
		if got := Decode([]byte(raw)); got != want {
			t.Errorf("%q is %q, not %q", raw, got, want)
		}
	}
}
