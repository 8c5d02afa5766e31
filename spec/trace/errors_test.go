package trace_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"

	"github.com/cockroachdb/datadriven"
)

// TestTraceErrors reads what nobody should write. The transcript has the input and
// what the reader says to it; its commands are
//
//	file            the input is the file
//	ops [v=1]       the input follows a header with two streams, two devices, and two
//	                columns of statistics; version 1 has one device
//	tree            the input follows the header of a graph-tree-trace
//	quoted          the input is a Go string literal, for bytes that are not text
//	gzip [cut=n] [damage=n]    the input follows such a header and is compressed,
//	                then the last n bytes are cut off, or the nth byte from the end
//	                is inverted
func TestTraceErrors(t *testing.T) {
	datadriven.RunTest(t, "testdata/errors", func(t *testing.T, d *datadriven.TestData) string {
		var data []byte
		switch d.Cmd {
		case "file":
			data = []byte(d.Input)
		case "ops":
			version := 2
			d.MaybeScanArgs(t, "v", &version)
			data = []byte(testHeader[version] + d.Input)
		case "tree":
			data = []byte(testTreeHeader + d.Input)
		case "quoted":
			text, err := strconv.Unquote(d.Input)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			data = []byte(text)
		case "gzip":
			cut, damage := 0, 0
			d.MaybeScanArgs(t, "cut", &cut)
			d.MaybeScanArgs(t, "damage", &damage)
			data = compress(t, testHeader[2]+d.Input)
			data = data[:len(data)-cut]
			if damage > 0 {
				data[len(data)-damage] ^= 0xff
			}
		default:
			d.Fatalf(t, "unknown command %s", d.Cmd)
		}
		return describeReading(t, bytes.NewReader(data))
	})
}

var testHeader = map[int]string{
	1: `{"format":"allocator-trace","version":1,"source":"test","device":"none","total_memory":1000000,"settings":"","family":"","seed":0,"streams":[0,7],"stat_columns":["a","b"]}` + "\n",
	2: `{"format":"allocator-trace","version":2,"devices":2,"total_memory":1000000,"streams":[0,7],"stat_columns":["a","b"]}` + "\n",
}

const testTreeHeader = `{"format":"graph-tree-trace","version":1,"source":"test","seed":0,"functions":[{"inputs":1,"static":false,"steps":[],"outputs":[["input",0]],"drop_inputs_at":0,"mode":"inference"}]}` + "\n"

// describeReading reads to the end, checks that the error has its type and stays,
// and returns it.
func describeReading(t *testing.T, r io.Reader) string {
	t.Helper()
	tr, err := trace.NewReader(r, "t.jsonl")
	n := 0
	for err == nil {
		if _, err = tr.Next(); err == nil {
			n++
		}
	}
	if tr != nil {
		if _, again := tr.Next(); again != err {
			t.Errorf("Next returned %v, then %v", err, again)
		}
	}
	if err == io.EOF {
		return fmt.Sprintf("fine: operations %d, end %t", n, tr.End() != nil)
	}
	var traceError *trace.Error
	if !errors.As(err, &traceError) {
		t.Errorf("error %v is a %T", err, err)
	}
	if errors.Is(err, spec.ErrNotSupported) {
		return err.Error() + "\n(is ErrNotSupported)"
	}
	return err.Error()
}

func compress(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if _, err := io.Copy(zip, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
