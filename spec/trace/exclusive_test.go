package trace_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"gaugeblock/spec/trace"
)

// TestFamilyIsForPeople: in version 1 it is the first operation that says whether the recorder
// had the device to itself. The header's family changes nothing, and no operation is lost.
func TestFamilyIsForPeople(t *testing.T) {
	const operation = `"events":[],"stats":[0]}` + "\n"
	for _, family := range []string{"realoom", "oom", ""} {
		header := `{"format":"allocator-trace","version":1,"source":"test","device":"none","total_memory":1000000,"settings":"","family":"` +
			family + `","seed":0,"streams":[0],"stat_columns":["a"]}` + "\n"
		for _, test := range []struct {
			lines     string
			exclusive bool
			kinds     []trace.OpKind
		}{
			{`{"op":"device_free","bytes":1,` + operation + `{"op":"empty_cache",` + operation, true, []trace.OpKind{trace.OpDeviceFree, trace.OpEmptyCache}},
			{`{"op":"empty_cache",` + operation + `{"op":"device_free","bytes":1,` + operation, false, []trace.OpKind{trace.OpEmptyCache, trace.OpDeviceFree}},
			{"", false, nil},
		} {
			r, err := trace.NewReader(strings.NewReader(header+test.lines), "test")
			if err != nil {
				t.Fatal(err)
			}
			if r.Header().Exclusive != test.exclusive {
				t.Errorf("family %q, %q: exclusive is %v", family, test.lines, r.Header().Exclusive)
			}
			for i, kind := range test.kinds {
				op, err := r.Next()
				if err != nil || op.Kind != kind || op.Line != i+2 {
					t.Errorf("family %q: %+v, %v instead of %s", family, op, err, kind)
				}
			}
			for range 2 {
				if _, err := r.Next(); !errors.Is(err, io.EOF) {
					t.Errorf("family %q: %v at the end", family, err)
				}
			}
		}
		r, err := trace.NewReader(strings.NewReader(header+"nonsense\n"), "test")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var wrong *trace.Error
			if _, err := r.Next(); !errors.As(err, &wrong) || wrong.Line != 2 {
				t.Errorf("family %q: %v", family, err)
			}
		}
	}
}
