package torch

import (
	"errors"
	"testing"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
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
			_, _, err := madeUp("capture", seed, Conditions{Release: release}, 300, func(op *trace.Op, out *perform.Result) {
				if _, invalidated := errors.AsType[*spec.CaptureInvalidatedError](out.Err); invalidated {
					met[op.Kind]++
				}
				if op.Kind == trace.OpCaptureEnd && out.Err != nil {
					ended++
				}
			})
			must(t, err)
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
