package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	"gaugeblock/upstream"
)

// playable are the kinds of operations of random programs that the model can follow. All work
// completes at once.
var playable = []trace.OpKind{
	trace.OpMalloc, trace.OpFree, trace.OpRecordStream, trace.OpEmptyCache, trace.OpSetMemoryFraction, trace.OpConfigure,
	trace.OpPoolCreate, trace.OpPoolBegin, trace.OpPoolEnd, trace.OpPoolRelease, trace.OpPoolDelete,
	trace.OpCheckpoint, trace.OpRestore,
}

// TestReleasesAtRandom: by the rules of each release the model does what the allocator does,
// in random programs.
func TestReleasesAtRandom(t *testing.T) {
	programs := 2
	if testing.Short() {
		programs = 1
	}
	for _, release := range upstream.Releases() {
		if release.Rules.RoutedEmptyCacheFails {
			continue // the model leaves it out
		}
		t.Run(release.Name, func(t *testing.T) {
			for _, name := range []string{"core", "limits", "expandable", "pools", "checkpoint"} {
				area := *conformance.Find(name)
				area.Release, area.Threads, area.Misuse, area.Pools = release.Name, 0, nil, false
				area.Settings = slices.DeleteFunc(slices.Clone(area.Settings), func(text string) bool {
					// The model releases no oversize blocks of private pools: oversize/captured-pool.
					return name != "limits" && strings.Contains(text, "max_split_size")
				})
				area.Kinds = slices.DeleteFunc(slices.Clone(area.Kinds), func(s conformance.Share) bool {
					return !slices.Contains(playable, s.Kind)
				})
				for seed := range uint64(programs) {
					if err := follow(&area, seed+1); err != nil {
						t.Errorf("%s, seed %d: %v", name, seed+1, err)
					}
				}
			}
		})
	}
}

// follow performs a random program on the allocator, and each operation on the model too.
func follow(area *conformance.Area, seed uint64) error {
	source, header := area.NewSource(conformance.Seeded(seed), seed, nil)
	player, err := perform.New(&header, reference.New)
	if err != nil {
		return err
	}
	version, _, _ := upstream.OfTrace(header.Release, header.Source)
	cfg, err := version.Rules.Settings.Parse(header.Settings, header.Geometry)
	if err != nil {
		return err
	}
	r := replayer{
		header: &header, state: model.New(0, header.TotalMemory, cfg, header.Geometry, version.Rules),
		ptrs: map[int64]spec.Ptr{}, saved: map[int][]model.Checkpoint{},
	}
	for n := range 250 {
		op := source.Next()
		out := player.Perform(&op)
		source.Did(&op, &out)
		if out.Skipped || op.Kind == trace.OpResetPeak {
			continue
		}
		if err := r.follow(&op, &out, player.Allocator()); err != nil {
			return fmt.Errorf("operation %d, %s: %w", n, op.InWords(), err)
		}
	}
	return nil
}

// follow performs an operation on the model, and compares it with what the allocator did.
func (r *replayer) follow(op *trace.Op, out *perform.Result, a spec.Allocator) error {
	op.Expect = trace.Expectation{Error: trace.ErrorName(out.Err), Entries: out.Entries}
	if out.Err == nil && op.Kind == trace.OpMalloc {
		op.Expect.Addr = &out.Ptr
	}
	if len(out.AddressRanges) > 0 { // an expandable segment is at its range
		op.Expect.Entries = slices.Insert(slices.Clone(op.Expect.Entries), 0,
			spec.TraceEntry{Action: spec.ActionSegmentMap, Addr: out.AddressRanges[0].Ptr})
	}
	snapshot, err := a.Snapshot()
	if err != nil {
		return err
	}
	op.Expect.Layout = trace.Layout(&snapshot)
	return r.step(op)
}
