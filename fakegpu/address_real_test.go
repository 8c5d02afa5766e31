package fakegpu

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gaugeblock/spec"
)

// TestRealAddresses replays what a real driver was asked for, and expects the
// addresses that it gave.
func TestRealAddresses(t *testing.T) {
	files, err := filepath.Glob("testdata/addresses/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { replayAddresses(t, file) })
	}
}

func replayAddresses(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	policy := newRealLike(0)
	lines := bufio.NewScanner(f)
	for line := 1; lines.Scan(); line++ {
		var what string
		var at, hole spec.Range
		n, _ := fmt.Sscanf(lines.Text(), "%s %v %d hole %v %d", &what, &at.Ptr, &at.Bytes, &hole.Ptr, &hole.Bytes)
		switch {
		case what == "#":
		case what == "chunk" && n == 5:
			c := &chunk{area: at, holes: []spec.Range{hole}}
			policy.byAge.add(c)
			policy.occupy(c)
		case what == "taken" && n == 3:
			policy.occupy(&chunk{area: at})
		case what == "malloc" && n == 3:
			if got := policy.Place(at.Bytes); got != at.Ptr {
				t.Fatalf("line %d: Place(%d) = %v, the driver gave %v", line, at.Bytes, got, at.Ptr)
			}
		case what == "free" && n == 3:
			policy.Vacate(at.Ptr, at.Bytes)
		case what == "reserve" && n == 3:
			if got := policy.PlaceRange(at.Bytes); got != at.Ptr {
				t.Fatalf("line %d: PlaceRange(%d) = %v, the driver gave %v", line, at.Bytes, got, at.Ptr)
			}
		case what == "return" && n == 3:
			policy.VacateRange(at.Ptr, at.Bytes)
		default:
			t.Fatalf("line %d: %q", line, lines.Text())
		}
	}
}

// occupy puts a chunk where it was before the recording. The highest one is below all else of
// the process.
func (r *realLike) occupy(c *chunk) {
	r.byAddr.Set(c.area.Ptr, c)
	r.gaps = nil
	var end spec.Ptr
	r.byAddr.Scan(func(at spec.Ptr, c *chunk) bool {
		if end < at {
			r.gaps = append(r.gaps, spec.Range{Ptr: end, Bytes: uint64(at - end)})
		}
		end = c.area.End()
		return true
	})
}

// TestChunksByAge compares with a search from the newest chunk to the oldest.
func TestChunksByAge(t *testing.T) {
	random := rand.New(rand.NewPCG(16, 4))
	var tree chunksByAge
	var all []*chunk // the newest last
	for step := range 20_000 {
		switch n := len(all); {
		case n == 0 || n < 200 && random.IntN(3) == 0:
			c := &chunk{holes: []spec.Range{{Bytes: uint64(random.IntN(50))}}}
			tree.add(c)
			all = append(all, c)
		case random.IntN(3) == 0:
			i := random.IntN(n)
			tree.remove(all[i])
			all = slices.Delete(all, i, i+1)
		default:
			c := all[random.IntN(n)]
			c.holes = []spec.Range{{Bytes: uint64(random.IntN(50))}, {Bytes: uint64(random.IntN(20))}}
			tree.update(c)
		}
		want, bytes := (*chunk)(nil), 1+uint64(random.IntN(60))
		for _, c := range all {
			if c.bestHole(bytes) >= 0 {
				want = c
			}
		}
		if got := tree.newest(bytes); got != want {
			t.Fatalf("step %d: of %d chunks the newest with %d bytes is %v, want %v", step, len(all), bytes, got, want)
		}
	}
}

// TestManyChunks: a piece is placed as quickly if there are tens of thousands of chunks, none of
// which has a hole for it.
func TestManyChunks(t *testing.T) {
	const many = 50_000
	policy := newRealLike(0)
	var pieces []spec.Ptr
	begin := time.Now()
	for range many {
		pieces = append(pieces, policy.Place(20*spec.MiB))
	}
	for _, p := range pieces {
		policy.Vacate(p, 20*spec.MiB)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("%d pieces take %v", many, took)
	}
	if policy.byAddr.Len() > 0 || policy.byAge.live > 0 || len(policy.gaps) != 1 || policy.gaps[0].End() != realTop {
		t.Errorf("%d chunks are left, and the gaps %v", policy.byAddr.Len(), policy.gaps)
	}
	if got := policy.Place(20 * spec.MiB); got != pieces[0] {
		t.Errorf("the next piece is at %v, the first was at %v", got, pieces[0])
	}
}

// In a process of PyTorch pieces lie where an H200 had them, in steps from the first one: in holes of the context's
// chunks, then in chunks below, and after most kernels, which copies are not, in the hole that the first of them leaves.
func TestProcessAddresses(t *testing.T) {
	p, is := ProcessLike(0).(*processLike)
	if !is {
		t.Fatal("it is another policy")
	}
	first := p.Place(pieceStep)
	place := func(steps uint64, want int64) {
		t.Helper()
		if at := int64(p.Place(steps*pieceStep)-first) / int64(pieceStep); at != want {
			t.Errorf("%d steps at %d, not at %d", steps, at, want)
		}
	}
	for _, name := range []string{CopyOver, CopyIn, CopyOut} {
		p.launched(name)
	}
	for _, want := range []struct {
		steps uint64
		at    int64
	}{{1, 37}, {1, 38}, {1, 39}, {10, -223}, {6, -213}, {1, 40}, {10, -239}, {1, -229}} {
		place(want.steps, want.at)
	}
	p.launched("a kernel")
	place(10, -207)
	p.launched("another kernel")
	p.launched("cublasSgemm_v2")
	place(13, -165)
	p.launched("cublasSgemm_v2")
	place(120, -152)
	place(32, -32)
	place(32, -575)
}

// Kernels that make random numbers, the weight norm and products leave the context's local memory where it is:
// the first two segments are those of weights_by_hooks (tools/run/testdata/kinds), the third lies below, as in state_space.
func TestProcessAddressesModest(t *testing.T) {
	p := ProcessLike(0).(*processLike)
	first := p.Place(pieceStep)
	for _, step := range []struct {
		kernel string
		steps  uint64
		at     int64
	}{
		{"_ZN2at6native_DistributionNormal_cu_distribution_elementwise_grid_stride_kernelIfLi4E", 10, 38},
		{"_ZN2at6native_WeightNorm_cu_weight_norm_fwd_first_dim_kernelIffE", 1, 48},
		{"cublasLtMatmul", 16, -303},
		{"_ZN2at6native29vectorized_elementwise_kernelILi4E", 16, -207},
	} {
		p.launched(step.kernel)
		if at := int64(p.Place(step.steps*pieceStep)-first) / int64(pieceStep); at != step.at {
			t.Errorf("after %s %d steps at %d, not at %d", step.kernel, step.steps, at, step.at)
		}
	}
}

// Without a piece beside the context's local memory new chunks lie below all others, as without a process.
func TestProcessAddressesBelow(t *testing.T) {
	p := ProcessLike(0)
	first := p.Place(12 * pieceStep)
	if small := p.Place(16 * pieceStep); small != first-260*spec.Ptr(pieceStep) {
		t.Errorf("%d", (small-first)/spec.Ptr(pieceStep))
	}
	p.Place(10 * pieceStep)
	p.(launchListener).launched("a kernel")
	if next := p.Place(16 * pieceStep); next >= first-260*spec.Ptr(pieceStep) {
		t.Errorf("%v is not below %v", next, first)
	}
}
