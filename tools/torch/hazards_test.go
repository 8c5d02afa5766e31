package torch

import (
	"path/filepath"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// forgottenUseProgram frees memory while its stream use, recorded in a pool, is forgotten.
func forgottenUseProgram() []trace.Op {
	pool := spec.PoolID{User: 1}
	return []trace.Op{
		{Kind: trace.OpPoolBegin, Pool: pool, By: trace.ByThread},
		{Kind: trace.OpMalloc, ID: 0, Size: 1 << 20},
		{Kind: trace.OpRecordStream, ID: 0, Stream: 1},
		{Kind: trace.OpWaitStream, Stream: 1, On: 0},
		{Kind: trace.OpKernel, Stream: 1, Reads: []trace.OpRange{{ID: 0}}},
		{Kind: trace.OpFree, ID: 0},
		{Kind: trace.OpPoolEnd, Pool: pool},
		{Kind: trace.OpMalloc, ID: 2, Size: 512}, // looks after what was deferred
		{Kind: trace.OpPoolBegin, Pool: pool, By: trace.ByThread},
		{Kind: trace.OpMalloc, ID: 1, Size: 1 << 20},
		{Kind: trace.OpKernel, Stream: 0, Writes: []trace.OpRange{{ID: 1}}},
	}
}

// TestHazard: PyTorch's device says of the hazard, and the row is found.
func TestHazard(t *testing.T) {
	forReleases(t, "", upstream.FindDeviation(rowNotCaptured).Until)
	open(t)
	area := conformance.Find("pools")
	_, h := area.NewSource(conformance.Seeded(4), 4, new(Conditions).header)
	if !exposes(&h) {
		t.Fatal("programs of the seed do not expose forgotten uses")
	}
	o, err := Perform(area, h, forgottenUseProgram(), func(int) {})
	must(t, err)
	if o.Difference == nil || o.Difference.What != "hazard, unordered" || o.Row != rowNotCaptured {
		t.Errorf("row %q, difference %v", o.Row, o.Difference)
	}
	h.Seed++ // programs that do not
	if o, err = Perform(area, h, forgottenUseProgram(), func(int) {}); err != nil || o.Difference != nil {
		t.Errorf("with the free left out: %v, %v", o.Difference, err)
	}
}

// TestDroppedUse: a use that PyTorch has remembered for a block's address in the heap makes it
// drop the use of another block there, and pages are unmapped under work. Neither a trace entry
// nor a figure differs in this program; the device shows it.
func TestDroppedUse(t *testing.T) {
	forReleases(t, "2.11", "2.12") // before, another block has the address; 2.13 does not defer uses while requests are routed
	open(t)
	h, ops, _, err := trace.ReadFile(filepath.Join("testdata", "dropped_use.jsonl"))
	must(t, err)
	o, err := Perform(conformance.Find(h.Family), h, ops, func(int) {})
	must(t, err)
	if o.Difference == nil || o.Difference.What != "hazard, returned" || o.Row != rowRemembered {
		t.Errorf("row %q, difference %v", o.Row, o.Difference)
	}
}

// TestDroppedDefault: PyTorch has dropped the use of another device's default stream, and gives
// the memory back to the driver under its work. No trace entry differs in this program; the device
// shows it.
func TestDroppedDefault(t *testing.T) {
	open(t)
	h, ops, _, err := trace.ReadFile(filepath.Join("testdata", "dropped_default.jsonl"))
	must(t, err)
	o, err := Perform(conformance.Find(h.Family), h, ops, func(int) {})
	must(t, err)
	if o.Difference == nil || o.Difference.What != "hazard, returned" || o.Row != rowHandleAlone {
		t.Errorf("row %q, difference %v", o.Row, o.Difference)
	}
}
