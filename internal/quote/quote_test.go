package quote

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"train.py:40 step", "train.py:40 step"},
		{"größer \u00a0 三 🙂", "größer \u00a0 三 🙂"},
		{"a\x1b[31mred", `a\u001b[31mred`},
		{"\x1b]0;title\a", `\u001b]0;title\u0007`},
		{"\u009b31m", `\u009b31m`},
		{"one\ntwo\tthree\r", `one\u000atwo\u0009three\u000d`},
		{"\u202eevil\u2066\u200b\ufeff", `\u202eevil\u2066\u200b\ufeff`},
		{"\u2028\u2029", `\u2028\u2029`},
		{"\U000e0041", `\udb40\udc41`}, // a tag character
		{"\xff\xfe", "\ufffd\ufffd"},
		{"one\ntwo", `one\u000atwo`},
		{"one\ttwo", `one\u0009two`},
		{"\U000e0000\U0010ffff\uffff", `\udb40\udc00\udbff\udfff\uffff`},
	} {
		if got := Text(test.text); got != test.want {
			t.Errorf("%q becomes %q, want %q", test.text, got, test.want)
		}
	}
}

// TestWriter: however the output is cut into pieces, what is passed on is the same, has no
// harmful character, and is JSON of the same value if it was JSON.
func TestWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text") + rapid.SampledFrom([]string{"", "\x1b[2J", "\u202e", "\u009b", "\x7f", "\U000e0041"}).Draw(t, "more")
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(text); err != nil {
			t.Fatal(err)
		}
		var whole, pieces bytes.Buffer
		if _, err := (&Writer{To: &whole}).Write(line.Bytes()); err != nil {
			t.Fatal(err)
		}
		w := &Writer{To: &pieces}
		for rest := line.Bytes(); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if written, err := w.Write(rest[:n]); written != n || err != nil {
				t.Fatalf("%d of %d bytes, %v", written, n, err)
			}
			rest = rest[n:]
		}
		if whole.String() != pieces.String() {
			t.Fatalf("%q in one piece, %q in several", &whole, &pieces)
		}
		if i := strings.IndexFunc(whole.String(), func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); i >= 0 {
			t.Fatalf("passed on: %q", whole.String()[i:])
		}
		var back, want string
		if err := json.Unmarshal(whole.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(line.Bytes(), &want); err != nil || back != want {
			t.Fatalf("%q became %q (%v)", want, back, err)
		}
	})
}

// failing fails after some bytes.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

// TestWriterPieces: what is passed on at once, what waits for its end, and what an output that fails says.
func TestWriterPieces(t *testing.T) {
	var out bytes.Buffer
	w := &Writer{To: &out}
	for _, test := range []struct{ piece, want string }{
		{"a\tb\n", "a\tb\n"}, {"", ""}, {"\xf0\x9f", ""}, {"\x99\x82!", "🙂!"}, {"\xff", "\ufffd"}, {"\xe2\x80", ""}, {"\xae", `\u202e`}, {"\xe2a", "\ufffda"},
	} {
		out.Reset()
		if n, err := w.Write([]byte(test.piece)); n != len(test.piece) || err != nil || out.String() != test.want {
			t.Errorf("%q: %q, %d, %v", test.piece, &out, n, err)
		}
	}
	broken := &Writer{To: &failing{left: 3}}
	if n, err := broken.Write([]byte("abc")); n != 3 || err != nil {
		t.Error(n, err)
	}
	if n, err := broken.Write([]byte("\xf0")); n != 1 || err != nil { // nothing is written yet
		t.Error(n, err)
	}
	if n, err := broken.Write([]byte("d")); n != 0 || err != io.ErrShortWrite {
		t.Error(n, err)
	}
}
