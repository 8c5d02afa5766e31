package torch

import (
	"errors"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
)

// TestInvalidatedCaptures: programs invalidate captures, and then call everything that must fail since 2.13
// and did not fail before, go on behind it, and end such captures.
func TestInvalidatedCaptures(t *testing.T) {
	for release, fails := range map[string]bool{"2.12": false, "2.15": true} {
		met, ended := map[trace.OpKind]int{}, 0
		for seed := uint64(32); seed < 2000; seed++ {
			if !invalidates(&trace.Header{Seed: int64(seed)}) {
				continue
			}
			c := Conditions{Release: release}
			source, h := conformance.Find("capture").NewSource(conformance.Seeded(seed), seed, c.header)
			player, err := perform.NewOn(&h, reference.New, nil, nil)
			must(t, err)
			prepare(source.Program(), &h)
			made := newMaker(source, h, seed)
			for range 300 {
				var op trace.Op
				if !made.make(&op) {
					continue
				}
				out := player.Perform(&op)
				if _, invalidated := errors.AsType[*spec.CaptureInvalidatedError](out.Err); invalidated {
					met[op.Kind]++
				}
				if op.Kind == trace.OpCaptureEnd && out.Err != nil {
					ended++
				}
				made.did(&op, &out)
			}
		}
		for _, kind := range []trace.OpKind{trace.OpMalloc, trace.OpRecordStream, trace.OpFree, trace.OpEmptyCache} {
			if met[kind] > 0 != fails {
				t.Errorf("by the rules of %s %d operations of the kind %s fail", release, met[kind], kind)
			}
		}
		if ended < 100 {
			t.Errorf("only %d captures end that were invalidated", ended)
		}
	}
}
