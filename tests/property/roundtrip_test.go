package property

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// TestRoundTrip: after a checkpoint, random calls and a restore, the saved segments of a
// private pool have the saved blocks, except for what docs/invariants.md allows
// (CheckpointRestoresWhatItSaved). The two lists that the restore returns are the blocks
// that were allocated before it and the saved ones.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPooled(t, rapid.SampledFrom([]string{
			"", "expandable_segments:True", "roundup_power2_divisions:4",
		}).Draw(t, "settings"))
		p.run(t, "before")
		state, err := p.Checkpoint(0, pooled)
		must(t, err)
		saved, savedPtrs := p.layout(t), slices.Sorted(slices.Values(p.ptrs))
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			p.run(t, "between")
			before := slices.Sorted(slices.Values(p.ptrs))
			delta, err := p.Restore(0, state)
			must(t, err)
			same(t, "freed", before, delta.Freed)
			same(t, "created", savedPtrs, delta.Created)
			p.ptrs = slices.Clone(savedPtrs)
			compareRestored(t, saved, p.layout(t))
			if exact, err := p.CheckPoolLiveAllocations(0, pooled, savedPtrs); err != nil || !exact {
				t.Fatalf("the allocated blocks of the pool are not the saved ones (%v)", err)
			}
		}
	})
}

// pooled is the pool that all requests of the test are routed to.
var pooled = spec.PoolID{User: 1}

// pooledProgram is an allocator with the allocated pointers.
type pooledProgram struct {
	*alloc.Allocator
	ptrs []spec.Ptr
}

func newPooled(t *rapid.T, settings string) *pooledProgram {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, spec.GiB)})
	a, err := alloc.New(gpu, alloc.Options{Settings: settings})
	must(t, err)
	must(t, a.BeginAllocateToPool(0, pooled, spec.ForThread(0)))
	return &pooledProgram{Allocator: a}
}

// run mallocs and frees.
func (p *pooledProgram) run(t *rapid.T, when string) {
	sizes := []uint64{1, 512, 100 * spec.KiB, spec.MiB, spec.MiB + 1, 3 * spec.MiB, 10 * spec.MiB, 21 * spec.MiB}
	for range rapid.IntRange(0, 12).Draw(t, when) {
		if len(p.ptrs) > 0 && rapid.Bool().Draw(t, "free") {
			i := rapid.IntRange(0, len(p.ptrs)-1).Draw(t, "which")
			must(t, p.Free(p.ptrs[i]))
			p.ptrs = slices.Delete(p.ptrs, i, i+1)
			continue
		}
		ptr, err := p.Malloc(spec.Request{Bytes: rapid.SampledFrom(sizes).Draw(t, "bytes")})
		must(t, err)
		p.ptrs = append(p.ptrs, ptr)
	}
}

func (p *pooledProgram) layout(t *rapid.T) []spec.Segment {
	s, err := p.SnapshotPool(pooled)
	must(t, err)
	return trace.Layout(&s)
}

// compareRestored compares the segments. A segment that was allocated after the checkpoint
// must be free, and so must the part that an expandable segment has grown by.
func compareRestored(t *rapid.T, saved, now []spec.Segment) {
	for i := range now {
		is := &now[i]
		at := slices.IndexFunc(saved, func(s spec.Segment) bool { return s.Address == is.Address })
		if at < 0 {
			if is.AllocatedSize != 0 {
				t.Fatalf("the segment at %v was allocated after the checkpoint and is in use", is.Address)
			}
			continue
		}
		same(t, "blocks", comparablePart(saved[at].Blocks, is.Expandable), comparablePart(is.Blocks, is.Expandable))
	}
	for i := range saved {
		if !slices.ContainsFunc(now, func(s spec.Segment) bool { return s.Address == saved[i].Address }) {
			t.Fatalf("the segment at %v is missing", saved[i].Address)
		}
	}
}

// comparablePart is the part of the blocks that must be equal: all but the requested size. The
// free end of the mapped part of an expandable segment may be longer or shorter.
func comparablePart(blocks []spec.Block, growing bool) []spec.Block {
	blocks = slices.Clone(blocks)
	for i := range blocks {
		blocks[i].RequestedSize = 0
	}
	if n := len(blocks); growing && n > 0 && blocks[n-1].State == spec.Inactive {
		blocks = blocks[:n-1]
		if n > 1 && blocks[n-2].State == spec.Inactive {
			blocks = blocks[:n-2] // the saved free end, and the part it has grown by
		}
	}
	return blocks
}

func same[T any](t *rapid.T, what string, want, got []T) {
	t.Helper()
	if len(want) == 0 && len(got) == 0 {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (- before, + now):\n%s", what, diff)
	}
}

func must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
