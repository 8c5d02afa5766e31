package trace

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gaugeblock/internal/kept"
	"gaugeblock/spec"
)

// TestRangesInWords: the parts of allocations that work reads and writes.
func TestRangesInWords(t *testing.T) {
	op := &Op{Kind: OpKernel, Stream: 2, Reads: []OpRange{{ID: 1}, {ID: 2, Offset: 512}}, Writes: []OpRange{{ID: 3, Offset: 4, Bytes: 5}}}
	if got, want := op.InWords(), "kernel on stream 2, reads id 1 and id 2 from 512 on, writes 5 bytes from 4 of id 3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestKeptWords: what each kind of operation is called, with every field and with none, what it is asked of and does with
// memory, and entries and segments in words, stay as they were.
func TestKeptWords(t *testing.T) {
	var out strings.Builder
	for _, kind := range append(OpKinds(), "unknown") {
		full := fullOp()
		full.Kind = kind
		fmt.Fprintf(&out, "%s: target %d, memory %d, pluggable %v\n  %s\n  %s\n", kind, kind.Target(), kind.Memory(), kind.Pluggable(), (&Op{Kind: kind}).InWords(), full.InWords())
		for _, by := range []PoolFilter{ByThread, ByStream, ByCapture} {
			if full.By = by; kind == OpPoolBegin {
				fmt.Fprintf(&out, "  %s\n", full.InWords())
			}
		}
	}
	for i := range spec.ActionNames() {
		e := spec.TraceEntry{Action: spec.Action(i), Addr: 4096, Size: 512, Stream: 7}
		fmt.Fprintln(&out, EntryInWords(e))
		e.Addr, e.Size, e.Stream = 0, 3<<20, 0
		fmt.Fprintln(&out, EntryInWords(e))
	}
	plain := spec.Segment{Address: 4096, TotalSize: 2 << 20, AllocatedSize: 512, ActiveSize: 1024, RequestedSize: 500, Blocks: []spec.Block{{Address: 4096, Size: 512, RequestedSize: 500, State: spec.ActiveAllocated}, {Address: 4608, Size: 2<<20 - 512}}}
	other := spec.Segment{Address: 1 << 30, TotalSize: 20 << 20, Stream: 7, PoolKind: spec.LargePool, Pool: spec.PoolID{Capture: 2, User: 3}, Device: 1, Expandable: true}
	fmt.Fprintln(&out, strings.Join(LayoutInLines([]spec.Segment{plain, other}), "\n"))
	kept.Compare(t, "testdata/words.txt", out.String())
}

// fullOp is an operation with a value of its own in each field.
func fullOp() *Op {
	op := &Op{}
	n := int64(100)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		n++
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Field(i).CanSet() {
					fill(v.Field(i))
				}
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
			fill(v.Index(1))
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		case reflect.Bool:
			v.SetBool(true)
		case reflect.String:
			v.SetString(fmt.Sprint("text", n))
		case reflect.Float64:
			v.SetFloat(float64(n) / 1000)
		case reflect.Uint64, reflect.Uint32, reflect.Uint8:
			v.SetUint(uint64(n))
		case reflect.Int, reflect.Int64, reflect.Int32:
			v.SetInt(n)
		}
	}
	fill(reflect.ValueOf(op).Elem())
	op.Expect, op.Mode = Expectation{}, spec.CaptureRelaxed
	return op
}
