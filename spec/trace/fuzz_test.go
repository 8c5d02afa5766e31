package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	"gaugeblock/spec/trace"

	"github.com/google/go-cmp/cmp"
)

// FuzzTraceReader reads anything. What cannot be read is a *Error; what can be
// read is JSON in the opinion of encoding/json as well, and is the same after it
// was written and read again. The seeds are small: whole recordings are read in
// roundtrip_test.go, and would let the fuzzer run a few files a second.
func FuzzTraceReader(f *testing.F) {
	everyKind, err := os.ReadFile("testdata/every-kind.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	lines := bytes.SplitAfter(everyKind, []byte("\n"))
	for _, line := range lines[1:] {
		f.Add(append([]byte(testHeader[2]), line...))
		f.Add(append([]byte(testHeader[1]), line...))
	}
	f.Add(compress(f, testHeader[2]+`{"op":"malloc","id":0,"size":1}`))

	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := readWhole(bytes.NewReader(data), "t")
		if err != nil {
			var traceError *trace.Error
			if !errors.As(err, &traceError) || traceError.Line < 1 || traceError.Reason == "" {
				t.Fatalf("error %v is a %T", err, err)
			}
			return
		}
		if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
			wantJSON(t, data)
		}
		w.Header.Version = 2
		again, err := readWhole(bytes.NewReader(w.write(t)), "t")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w, again); diff != "" {
			t.Fatalf("read (-) and read again (+):\n%s", diff)
		}
	})
}

// wantJSON checks that the data is JSON values, one a line.
func wantJSON(t *testing.T, data []byte) {
	t.Helper()
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	for i, line := range lines {
		decoder := json.NewDecoder(bytes.NewReader(line))
		var value any
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("line %d was read, but it is not JSON: %v", i+1, err)
		}
		if _, err := decoder.Token(); err != io.EOF {
			t.Fatalf("line %d was read, but something follows", i+1)
		}
	}
}
