package snapshot_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"gaugeblock/snapshot"
)

// endless is a file that begins so and goes on with one piece for ever.
func endless(begin, piece string) io.Reader {
	const buffer = 1 << 16
	chunk := strings.Repeat(piece, 1+buffer/len(piece))
	return io.MultiReader(strings.NewReader(begin), &repeated{text: chunk})
}

type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// TestBombs: files that never end, of everything that a pickle or JSON can have. Each is
// refused before it has taken more memory than is allowed, however well it was compressed.
func TestBombs(t *testing.T) {
	const limit = 8 << 20
	entry := "}(\x8c\x06action\x8c\x05alloc\x8c\x06framesh\x00u"
	for what, file := range map[string]io.Reader{
		"lists":                   endless(p, "]"),
		"lists in lists":          endless(p, "]]a"),
		"tuples":                  endless(p+"N", "\x85"),
		"empty tuples":            endless(p, ")"),
		"pairs":                   endless(p, "NN\x86"),
		"marks":                   endless(p, "("),
		"marked tuples":           endless(p, "(Nt"),
		"dicts":                   endless(p, "}"),
		"dicts with a key":        endless(p, "}NNs"),
		"one dict":                endless(p+"}", "NNs"),
		"one dict, slowly":        endless(p+"}", "(NNu"),
		"one list":                endless(p+"]", "Na"),
		"one list, marked":        endless(p+"]", "(NNNNe"),
		"a list of itself":        endless(p+"]\x94", "h\x00a"),
		"memo":                    endless(p+"N", "\x94"),
		"values of the memo":      endless(p+"]\x94", "h\x00"),
		"numbers":                 endless(p, "K\x01"),
		"one text":                endless(p+"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f", "x"),
		"trace entries":           endless(p+"]\x94", entry),
		"trace entries, put away": endless(p+"]\x94", entry+"0"),
		"JSON lists":              endless("", "["),
		"JSON dicts":              endless("", `{"a":`),
		"JSON list of lists":      endless("[[]", ",[]"),
		"JSON numbers":            endless("[0", ",1"),
		"JSON keys":               endless(`{"a":0`, `,"b":1`),
		"JSON string":             endless(`["`, "x"),
		"JSON trace entries":      endless("[0", `,{"action":"alloc","frames":[]}`),
	} {
		t.Run(what, func(t *testing.T) {
			wantRefused(t, file, limit)
		})
	}
	t.Run("texts", func(t *testing.T) {
		var file bytes.Buffer
		file.WriteString(p)
		for i := range 1 << 20 {
			fmt.Fprintf(&file, "\x8c\x07%07d0", i)
		}
		wantRefused(t, &file, limit)
	})
	t.Run("frames", func(t *testing.T) {
		var file bytes.Buffer
		file.WriteString(p + "]\x94")
		for i := range 1 << 18 {
			fmt.Fprintf(&file, "}(\x8c\x06action\x8c\x05alloc\x8c\x06frames]}\x8c\x04name\x8c\x07%07dsau0", i)
		}
		wantRefused(t, &file, limit)
	})
}

func wantRefused(t *testing.T, file io.Reader, limit uint64) {
	t.Helper()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := snapshot.ReadLimited(file, "file", limit)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "--max-memory sets another limit") {
		t.Errorf("got %v", err)
	}
	// All allocations together: those that were copied to larger ones, too, and the decoder's
	// tokens of JSON.
	most := 9 * limit / 2
	if strings.Contains(t.Name(), "JSON") {
		most *= 2
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > most {
		t.Errorf("%d bytes were taken, of %d that are allowed", taken, limit)
	}
}

// TestBlanks: the decoder would look at all blanks again with each read.
func TestBlanks(t *testing.T) {
	for _, begin := range []string{"", "[", `[1,`} {
		_, err := snapshot.ReadLimited(endless(begin+" ", " "), "file", 64<<20)
		if err == nil || !strings.Contains(err.Error(), "more than a million blanks in a row") {
			t.Errorf("%q: got %v", begin, err)
		}
	}
}

// TestCompressedBombs: 20 KB that become 20 MB of lists, and what becomes of a real snapshot with
// little memory.
func TestCompressedBombs(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	io.WriteString(w, p+strings.Repeat("]", 20<<20)+".")
	w.Close()
	wantRefused(t, &packed, 1<<28)
	whole, err := os.ReadFile("testdata/small.5.pickle")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.ReadLimited(bytes.NewReader(whole), "small", 1<<20); err != nil {
		t.Error(err)
	}
	if _, err := snapshot.ReadLimited(bytes.NewReader(whole), "small", 1<<14); err == nil || !strings.Contains(err.Error(), "16384 bytes") {
		t.Errorf("got %v", err)
	}
}
