package trace_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/internal/kept"
	"gaugeblock/internal/mutated"
	"gaugeblock/spec/trace"
)

// TestKeptAnswers reads the traces of testdata/errors with words that are left out, doubled, exchanged or of another line: what is
// read, in words and as it is written again, or what error it is, stays as it was. testdata/answers.txt has a checksum of that
// for each.
//
//	go test ./spec/trace -run TestKeptAnswers -rewrite-answers
func TestKeptAnswers(t *testing.T) {
	var got strings.Builder
	n := 0
	datadriven.RunTest(t, "testdata/errors", func(t *testing.T, d *datadriven.TestData) string {
		text := d.Input
		switch d.Cmd {
		case "ops":
			version := 2
			d.MaybeScanArgs(t, "v", &version)
			text = testHeader[version] + d.Input
		case "tree":
			text = testTreeHeader + d.Input
		case "quoted":
			text, _ = strconv.Unquote(d.Input)
		case "gzip":
			return d.Expected
		}
		n++
		r := rand.New(rand.NewPCG(uint64(n), 35))
		said := readInWords(text)
		words := partsOfLine.FindAllString(text, -1)
		for range min(len(words), 30) {
			said += readInWords(mutated.Words(r, words))
		}
		fmt.Fprintf(&got, "%d %s %s\n", n, d.Cmd, kept.Sum(said))
		return d.Expected
	})
	kept.Compare(t, "testdata/answers.txt", got.String())
}

var partsOfLine = regexp.MustCompile(`(?s)"[^"\n]*"|-?\d+|[a-z]+|.`)

// readInWords is what a trace has, or why it cannot be read.
func readInWords(text string) string {
	var out, again strings.Builder
	in, err := trace.NewReader(strings.NewReader(text), "t.jsonl")
	var ops []trace.Op
	for err == nil {
		var op *trace.Op
		if op, err = in.Next(); err == nil {
			fmt.Fprintln(&out, op.InWords())
			ops = append(ops, *op)
		}
	}
	if err != io.EOF {
		fmt.Fprintln(&out, err, errors.Unwrap(err))
		return out.String()
	}
	err = trace.Write(&again, *in.Header(), ops, in.End())
	return out.String() + again.String() + fmt.Sprintln(err)
}
