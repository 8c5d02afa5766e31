package tell_test

import (
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/snapshot/tell"
	"gaugeblock/spec"
)

// nonsense draws a snapshot that no allocator ever made: entries and segments that
// contradict each other.
func nonsense(t *rapid.T) *snapshot.File {
	const granule = 512 * spec.KiB
	address := rapid.Uint64Range(1, 200)
	size := rapid.Uint64Range(0, 100)
	stream := rapid.SampledFrom([]spec.Stream{0, 0, 7})
	pool := rapid.SampledFrom([]spec.PoolID{{}, {}, {User: 1}})
	f := &snapshot.File{DeviceTraces: [][]snapshot.TraceEntry{nil}}
	for range rapid.IntRange(0, 5).Draw(t, "segments") {
		s := spec.Segment{
			Address: spec.Ptr(address.Draw(t, "address") * granule), Stream: stream.Draw(t, "stream"), Pool: pool.Draw(t, "pool"),
			PoolKind: rapid.SampledFrom([]spec.PoolKind{spec.SmallPool, spec.LargePool}).Draw(t, "kind"), Expandable: rapid.Bool().Draw(t, "expandable"),
		}
		for range rapid.IntRange(0, 4).Draw(t, "blocks") {
			b := spec.Block{
				Address: s.Address + spec.Ptr(s.TotalSize), Size: granule * size.Draw(t, "size"),
				RequestedSize: rapid.Uint64().Draw(t, "requested"), State: rapid.SampledFrom([]spec.BlockState{0, 1, 2}).Draw(t, "state"),
			}
			s.TotalSize += b.Size
			s.Blocks = append(s.Blocks, b)
		}
		f.Segments = append(f.Segments, s)
	}
	for range rapid.IntRange(1, 60).Draw(t, "entries") {
		f.DeviceTraces[0] = append(f.DeviceTraces[0], snapshot.TraceEntry{
			TraceEntry: spec.TraceEntry{
				Action: spec.Action(rapid.IntRange(0, 8).Draw(t, "action")),
				Addr:   spec.Ptr(address.Draw(t, "address") * granule), Size: granule * size.Draw(t, "size"), Stream: stream.Draw(t, "stream"),
			},
			Context: &snapshot.Context{Pool: pool.Draw(t, "pool"), PoolKnown: rapid.Bool().Draw(t, "known")},
		})
	}
	return f
}

// TestNonsense: there is a result for every snapshot, and it is never exact if the
// history contradicts itself.
func TestNonsense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, err := play.FromSnapshot(nonsense(t), 0)
		var none *history.WorkloadError
		if errors.As(err, &none) {
			t.Skip("no request")
		}
		if err != nil {
			t.Fatal(err)
		}
		comparison, err := compare.Compare(h, compare.Options{Settings: []string{"", "expandable_segments:True"}, Limit: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		for _, prediction := range comparison.Predictions {
			if prediction.Exact() && h.Unrecorded.InconsistentEntries > 0 {
				t.Fatalf("%d inconsistent entries, and %q is exact", h.Unrecorded.InconsistentEntries, prediction.Settings.Text)
			}
		}
		_ = told(comparison).Verdict() + told(comparison).Details()
		told(comparison).Export()
		if _, err := json.Marshal(told(comparison)); err != nil {
			t.Fatal(err)
		}
		told(comparison).Table(tell.TableOptions{})
	})
}
