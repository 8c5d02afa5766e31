package replay

import (
	"fmt"
	"slices"
	"testing"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// tried are two ranges of addresses and an order, of which the first range lies where a later mapping is.
func tried() *choices {
	return &choices{made: []choice{
		{operation: 2, line: 3, reserve: true, bytes: 2 << 20, options: []spec.Ptr{0x1000000, 0, 0x2000000}, later: 1},
		{operation: 4, line: 5, reserve: true, bytes: 2 << 20, options: []spec.Ptr{0, 0x3000000}, taken: 1},
		{operation: 6, line: 9, bytes: 512, options: []spec.Ptr{0x1000000, 0x5000000}},
	}}
}

// TestConfirm: what the trace says of memory in a range confirms the range, and each entry and the address count.
func TestConfirm(t *testing.T) {
	mapped := func(at spec.Ptr) spec.TraceEntry {
		return spec.TraceEntry{Action: spec.ActionSegmentMap, Addr: at, Size: 512}
	}
	first, second := spec.Ptr(0x1000000), spec.Ptr(0x3000000)
	for _, test := range []struct {
		want, got []spec.TraceEntry
		addr      *spec.Ptr
		at        spec.Ptr
		same      int
		confirmed [3]bool
		unknown   string
	}{
		{nil, nil, nil, 0, 0, [3]bool{}, "2 (line 3)"},
		{nil, nil, &first, first, 1, [3]bool{true}, "4 (line 5)"},
		{nil, nil, &first, second, 0, [3]bool{}, "2 (line 3)"},
		{nil, nil, &second, second, 1, [3]bool{false, true}, "2 (line 3)"},
		{[]spec.TraceEntry{mapped(first + 2<<20 - 1)}, []spec.TraceEntry{mapped(first + 2<<20 - 1)}, nil, 0, 1, [3]bool{true}, "4 (line 5)"},
		{[]spec.TraceEntry{mapped(first + 2<<20)}, []spec.TraceEntry{mapped(first + 2<<20)}, nil, 0, 1, [3]bool{}, "2 (line 3)"},
		{[]spec.TraceEntry{mapped(first), mapped(second)}, []spec.TraceEntry{mapped(first), mapped(second)}, &first, first, 3, [3]bool{true, true}, "none"},
		{[]spec.TraceEntry{mapped(first), mapped(second)}, []spec.TraceEntry{mapped(second), mapped(second)}, nil, 0, 0, [3]bool{}, "2 (line 3)"},
		{[]spec.TraceEntry{mapped(first)}, []spec.TraceEntry{mapped(first), mapped(second)}, nil, 0, 1, [3]bool{true}, "4 (line 5)"},
	} {
		r := &run{choices: tried()}
		op := &trace.Op{Kind: trace.OpMalloc, Expect: trace.Expectation{Entries: test.want, Addr: test.addr}}
		same := r.confirm(op, &perform.Result{Entries: test.got, Ptr: test.at})
		var confirmed [3]bool
		for i, made := range r.choices.made {
			confirmed[i] = made.confirmed
		}
		unknown := "none"
		if c := r.choices.unknown(); c != nil {
			unknown = fmt.Sprintf("%d (line %d)", c.operation, c.line)
		}
		if same != test.same || confirmed != test.confirmed || unknown != test.unknown {
			t.Errorf("%+v: %d, %v, %s", test, same, confirmed, unknown)
		}
	}
}

// TestChoices: the latest choice that is not confirmed takes its next option, until there is none.
func TestChoices(t *testing.T) {
	c := tried()
	for _, want := range [][]int{{0, 1, 1}, {1}, {2}, nil} {
		path := c.next()
		if !slices.Equal(path, want) {
			t.Errorf("%v, want %v", path, want)
		}
		c.made = c.made[:min(len(path), 3)]
		for i, taken := range path {
			c.made[i].taken = taken
		}
	}
	c = tried()
	if c.positional() {
		t.Error("a range lies where a later mapping is")
	}
	if c.made[0].taken = 1; !c.positional() {
		t.Error("only the order of ranges says something")
	}
	const where, order = "where the address range of 2097152 bytes (2.00 MiB) lies, which operation 2 (line 3) reserved", "in which order operation 6 (line 9) obtained its segments of 512 bytes"
	if a, b := c.made[0].String(), c.made[2].String(); a != where || b != order {
		t.Errorf("%s; %s", a, b)
	}
}
