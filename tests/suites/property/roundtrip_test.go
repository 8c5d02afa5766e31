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

// TestRoundTrip: whatever happens to a private pool between a checkpoint and the
// restore, its saved segments look afterwards as they did, with what
// docs/invariants.md allows (CheckpointRestoresWhatItSaved), and the two lists of the
// restore are what was out and what was saved.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPooled(t, rapid.SampledFrom([]string{
			"", "expandable_segments:True", "roundup_power2_divisions:4",
		}).Draw(t, "settings"))
		p.live(t, "before")
		state, err := p.Checkpoint(0, pooled)
		must(t, err)
		saved, savedOut := p.layout(t), slices.Sorted(slices.Values(p.out))
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			p.live(t, "between")
			wasOut := slices.Sorted(slices.Values(p.out))
			delta, err := p.Restore(0, state)
			must(t, err)
			same(t, "freed", wasOut, delta.Freed)
			same(t, "created", savedOut, delta.Created)
			p.out = slices.Clone(savedOut)
			compareRestored(t, saved, p.layout(t))
			if exact, err := p.CheckPoolLiveAllocations(0, pooled, savedOut); err != nil || !exact {
				t.Fatalf("what is out in the pool is not what was saved (%v)", err)
			}
		}
	})
}

// pooled is the pool that all requests of the test are diverted to.
var pooled = spec.PoolID{User: 1}

// pooledProgram is an allocator with the pointers that are out.
type pooledProgram struct {
	*alloc.Allocator
	out []spec.Ptr
}

func newPooled(t *rapid.T, settings string) *pooledProgram {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, spec.GiB)})
	a, err := alloc.New(gpu, alloc.Options{Settings: settings})
	must(t, err)
	must(t, a.BeginAllocateToPool(0, pooled, spec.ForThread(0)))
	return &pooledProgram{Allocator: a}
}

// live asks for memory and gives some back.
func (p *pooledProgram) live(t *rapid.T, when string) {
	sizes := []uint64{1, 512, 100 * spec.KiB, spec.MiB, spec.MiB + 1, 3 * spec.MiB, 10 * spec.MiB, 21 * spec.MiB}
	for range rapid.IntRange(0, 12).Draw(t, when) {
		if len(p.out) > 0 && rapid.Bool().Draw(t, "free") {
			i := rapid.IntRange(0, len(p.out)-1).Draw(t, "which")
			must(t, p.Free(p.out[i]))
			p.out = slices.Delete(p.out, i, i+1)
			continue
		}
		ptr, err := p.Malloc(spec.Request{Bytes: rapid.SampledFrom(sizes).Draw(t, "bytes")})
		must(t, err)
		p.out = append(p.out, ptr)
	}
}

func (p *pooledProgram) layout(t *rapid.T) []spec.Segment {
	s, err := p.SnapshotPool(pooled)
	must(t, err)
	return trace.Layout(&s)
}

// compareRestored compares segment by segment. A segment that came later, or the
// part by which an expandable one has grown, must be free.
func compareRestored(t *rapid.T, saved, now []spec.Segment) {
	for i := range now {
		is := &now[i]
		at := slices.IndexFunc(saved, func(s spec.Segment) bool { return s.Address == is.Address })
		if at < 0 {
			if is.AllocatedSize != 0 {
				t.Fatalf("the segment at %v came after the checkpoint and is in use", is.Address)
			}
			continue
		}
		same(t, "blocks", exactly(saved[at].Blocks, is.Expandable), exactly(is.Blocks, is.Expandable))
	}
	for i := range saved {
		if !slices.ContainsFunc(now, func(s spec.Segment) bool { return s.Address == saved[i].Address }) {
			t.Fatalf("the segment at %v is gone", saved[i].Address)
		}
	}
}

// exactly is what has to be equal of blocks: of those that are out everything, what
// was asked for being their size; of free ones where they lie. The free end of what
// is mapped of an expandable segment may be longer or shorter.
func exactly(blocks []spec.Block, growing bool) []spec.Block {
	blocks = slices.Clone(blocks)
	for i := range blocks {
		blocks[i].RequestedSize = 0
	}
	if n := len(blocks); growing && n > 0 && blocks[n-1].State == spec.Inactive {
		blocks = blocks[:n-1]
		if n > 1 && blocks[n-2].State == spec.Inactive {
			blocks = blocks[:n-2] // the saved end, and the free rest by which it has grown
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
		t.Fatalf("%s (- is what was, + is what there is):\n%s", what, diff)
	}
}

func must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
