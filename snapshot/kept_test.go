package snapshot_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/kept"
	"gaugeblock/snapshot"
)

// TestKeptAnswers reads the snapshots in testdata, and each of them with changes: what is read, or what error it is, stays as it was.
// testdata/answers.txt has a checksum of it for each file and kind of change.
//
//	go test ./snapshot -run TestKeptAnswers -rewrite-answers
func TestKeptAnswers(t *testing.T) {
	var got strings.Builder
	for _, file := range []string{"small.2.pickle", "small.4.pickle", "small.slow.pickle", "pinned-2.15.pickle", "small.json"} {
		whole, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s %s\n", file, kept.Sum(whatIsRead(whole)))
		for _, change := range changes {
			r := rand.New(rand.NewPCG(1, 35))
			said := ""
			for range 15 {
				at := r.IntN(len(whole) - 16)
				said += whatIsRead(change.of(slices.Clone(whole), at, r)) + "\n"
			}
			fmt.Fprintf(&got, "%s %s %s\n", file, change.name, kept.Sum(said))
		}
	}
	kept.Compare(t, "testdata/answers.txt", got.String())
}

// changes are what is done to a file at an offset, 16 bytes before its end at the latest.
var changes = []struct {
	name string
	of   func(text []byte, at int, r *rand.Rand) []byte
}{
	{"cut", func(text []byte, at int, _ *rand.Rand) []byte { return text[:at] }},
	{"flipped", func(text []byte, at int, r *rand.Rand) []byte {
		text[at] ^= 1 << r.IntN(8)
		return text
	}},
	{"shorter", func(text []byte, at int, r *rand.Rand) []byte { return slices.Delete(text, at, at+1+r.IntN(12)) }},
	{"longer", func(text []byte, at int, r *rand.Rand) []byte {
		return slices.Insert(text, at, slices.Clone(text[at:at+1+r.IntN(12)])...)
	}},
	{"other numbers", func(text []byte, at int, r *rand.Rand) []byte {
		for i := at; i < len(text); i++ {
			if text[i] >= '0' && text[i] <= '9' {
				return slices.Replace(text, i, i+1, []byte{"-9"[r.IntN(2)], '1'}...)
			}
		}
		return text
	}},
	{"other names", func(text []byte, at int, r *rand.Rand) []byte {
		name := dictionary[r.IntN(len(dictionary))]
		if i := bytes.Index(text[at:], []byte(name)); i >= 0 {
			text[at+i]++
		}
		return text
	}},
}

// whatIsRead is what a file holds, or why it cannot be read.
func whatIsRead(text []byte) string {
	f, err := snapshot.Read(bytes.NewReader(text), "f")
	if err != nil {
		return err.Error()
	}
	said, err := json.Marshal(f)
	if err != nil {
		return err.Error()
	}
	return string(said)
}
