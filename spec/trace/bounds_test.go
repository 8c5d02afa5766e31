package trace_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"gaugeblock/spec/trace"
)

// endless gives a beginning, then what next makes for ever, and counts what was
// taken of it. A reader that does not stop by itself is stopped in the end.
type endless struct {
	rest  []byte
	next  func() string
	taken int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.taken > 16*trace.MaxLine {
		return 0, errors.New("the reader does not stop")
	}
	if len(e.rest) == 0 {
		e.rest = []byte(e.next())
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	e.taken += n
	return n, nil
}

// TestTraceEndlessLine: of a line without end no more is read than the longest line
// and a buffer, wherever in the file it is.
func TestTraceEndlessLine(t *testing.T) {
	const buffer = 64 << 10
	for _, c := range []struct{ name, start, want string }{
		{"header", `{"format":"`, "t.jsonl:1: the line is longer than 16777216 bytes"},
		{"operation", testHeader[2] + `{"op":"kernel","name":"`, "t.jsonl:2: the line is longer than 16777216 bytes"},
		{"after the end", testHeader[2] + `{"end":true}` + "\n", "t.jsonl:3: the line is longer than 16777216 bytes"},
		{"spaces", testHeader[2] + strings.Repeat(" ", 100), "t.jsonl:2: the line is longer than 16777216 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := &endless{rest: []byte(c.start), next: func() string { return strings.Repeat("x", 1000) }}
			if got := describeReading(t, in); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if most := len(c.start) + trace.MaxLine + 2*buffer; in.taken > most {
				t.Errorf("took %d bytes, more than %d", in.taken, most)
			}
		})
	}
}

// TestTraceLongestLine: a line may be MaxLine bytes long, its line feed
// counted, and not one more.
func TestTraceLongestLine(t *testing.T) {
	for excess, want := range []string{
		"fine: operations 1, end false",
		"t.jsonl:2: the line is longer than 16777216 bytes",
	} {
		const before, after = `{"op":"kernel","name":"`, "\"}\n"
		name := strings.Repeat("x", trace.MaxLine-len(before)-len(after)+excess)
		if got := describeReading(t, strings.NewReader(testHeader[2]+before+name+after)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestTraceGzipBomb: a small file that unpacks to a huge line is given up early.
func TestTraceGzipBomb(t *testing.T) {
	var bomb bytes.Buffer
	zip, err := gzip.NewWriterLevel(&bomb, gzip.HuffmanOnly) // eight to one, and quick to make
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(zip, testHeader[2])
	for range 64 { // MiB
		zip.Write(bytes.Repeat([]byte(" "), 1<<20))
	}
	zip.Close()
	size := bomb.Len()
	got := describeReading(t, &bomb)
	if want := "t.jsonl:2: the line is longer than 16777216 bytes"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if read := size - bomb.Len(); read > size/2 {
		t.Errorf("read %d of %d bytes", read, size)
	}
}

// TestTraceManyLive: what is in use has to be kept, so it is bounded too, here by 5
// instead of MaxLive.
func TestTraceManyLive(t *testing.T) {
	id := 0
	in := &endless{rest: []byte(testHeader[2]), next: func() string {
		id++
		return fmt.Sprintf(`{"op":"malloc","id":%d,"size":1}`+"\n", id)
	}}
	tr, err := trace.NewReader(in, "t.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if usual := trace.LimitTraceLive(tr, 5); usual != trace.MaxLive {
		t.Errorf("the limit is usually %d", usual)
	}
	for err == nil {
		_, err = tr.Next()
	}
	const want = "t.jsonl:8: malloc: more than 5 allocations, events, states, graphs, handles and outputs in use"
	if err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestTraceDeepNesting: nesting costs a reader's stack, and joined names its memory.
func TestTraceDeepNesting(t *testing.T) {
	const million = 1 << 20
	for _, c := range []struct{ name, text, want string }{
		{
			"arrays in the header", `{"x":` + strings.Repeat("[", million),
			"t.jsonl:1: nested more than 32 deep (column 38)",
		},
		{
			"objects in the header", strings.Repeat(`{"x":`, million),
			"t.jsonl:1: nested more than 32 deep (column 166)",
		},
		{
			"statistics", testHeader[2] + `{"end":true,"stats":` + strings.Repeat(`{"x":`, million),
			`t.jsonl:2: field "stats.x.x.x.x": nested more than 4 deep (column 41)`,
		},
		{
			"a long name around many", testHeader[2] + `{"end":true,"stats":{"` + strings.Repeat("x", million) + `":{`,
			`t.jsonl:2: field "stats.` + strings.Repeat("x", 40) + `...": a name longer than 200 bytes (column 1048601)`,
		},
	} {
		if got := describeReading(t, strings.NewReader(c.text)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
