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

// processAddresses is a process of PyTorch, whose pieces are placed and told in steps from the first one.
type processAddresses struct {
	t     *testing.T
	g     *GPU
	first spec.Ptr
}

func newProcessAddresses(t *testing.T) *processAddresses {
	return &processAddresses{t: t, g: New(Config{Addresses: ProcessLike})}
}

func (p *processAddresses) launch(name string, bytes uint64) {
	p.t.Helper()
	must(p.t, p.g.LaunchSized(spec.Launch{Name: name}, bytes, 0, 0))
}

func (p *processAddresses) place(steps uint64) int64 {
	p.t.Helper()
	at, err := p.g.Malloc(0, steps*pieceStep)
	must(p.t, err)
	if p.first == 0 {
		p.first = at
	}
	return int64(at-p.first) / int64(pieceStep)
}

// at expects a piece at an address.
func (p *processAddresses) at(steps uint64, want int64) {
	p.t.Helper()
	if at := p.place(steps); at != want {
		p.t.Errorf("%d steps at %d, not at %d", steps, at, want)
	}
}

// In a process of PyTorch pieces lie where an H200 had them, in steps from the first one: in holes of the context's
// chunks, then in chunks below, and after most kernels, which copies are not, in the hole that the first of them leaves.
func TestProcessAddresses(t *testing.T) {
	p := newProcessAddresses(t)
	p.at(1, 0)
	for _, name := range []string{CopyOver, CopyIn, CopyOut} {
		p.launch(name, 0)
	}
	for _, want := range []struct {
		steps uint64
		at    int64
	}{{1, 37}, {1, 38}, {1, 39}, {10, -223}, {6, -213}, {1, 40}, {10, -239}, {1, -229}} {
		p.at(want.steps, want.at)
	}
	p.launch("a kernel", 0)
	p.at(10, -207)
	p.launch("another kernel", 0)
	p.launch("cublasSgemm_v2", 0)
	p.at(13, -165)
	p.launch("cublasSgemm_v2", 0)
	p.at(120, -152)
	p.at(32, -32)
	p.at(32, -575)
}

// Kernels that make random numbers, the weight norm and products leave the context's local memory where it is:
// the first two segments are those of weights_by_hooks (tools/run/testdata/kinds), the third lies below, as in state_space.
func TestProcessAddressesModest(t *testing.T) {
	p := newProcessAddresses(t)
	p.at(1, 0)
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
		p.launch(step.kernel, 0)
		p.at(step.steps, step.at)
	}
}

// Without a piece beside the context's local memory, and without a model that was freed, new chunks lie below all others.
func TestProcessAddressesBelow(t *testing.T) {
	p := newProcessAddresses(t)
	p.at(12, 0)
	p.at(16, -260)
	p.at(10, -276)
	p.launch("a kernel", 0)
	p.at(16, -276-272-16)
}

// With such a model the chunk is given back, and the gap is filled downwards, as in all runs of an H200 that had more
// than 12 steps at first.
func TestProcessAddressesGivenBack(t *testing.T) {
	p := newProcessAddresses(t)
	p.at(24, 0)
	p.at(10, 276)
	p.at(16, -16)
	p.launch(CopyIn, keptSteps*pieceStep)
	p.launch("a kernel", 0)
	p.at(16, 224)
	p.at(10, 208)
	p.at(16, 192)
}

// New chunks lie above all others as soon as the host has freed enough of a model: 36 steps and what they take, of
// tensors of at least 4 MiB that were copied before the first kernel.
func TestProcessAddressesAbove(t *testing.T) {
	p := newProcessAddresses(t)
	p.at(24, 0)
	side := func(want string) {
		t.Helper()
		got := "below"
		if p.place(16) > 288 {
			got = "above"
		}
		if got != want {
			t.Errorf("it lies %s, not %s", got, want)
		}
	}
	const tensor = 4 * spec.MiB // two steps
	copies := func(n int, bytes uint64) {
		for range n {
			p.launch(CopyIn, bytes)
		}
	}
	copies(1000, tensor-1)
	p.launch(CopyOver, 1<<30)
	p.launch(CopyOut, 1<<30)
	copies((36+16)/2, tensor)
	side("below") // a gap must be larger than what is taken from it
	copies(1, tensor)
	side("above")
	side("below")
	copies(16, tensor)
	side("above")
	side("above")
	side("below")
	p.launch("a kernel", 0)
	copies(1000, tensor)
	if at := p.place(16); at > 288 {
		t.Errorf("it lies at %d, though a kernel has run", at)
	}
}

// What the host frees has an end, as the address space has: of three pieces of 400 GiB two lie above.
func TestProcessAddressesMuchFreed(t *testing.T) {
	p := ProcessLike(0).(*processLike)
	p.copied(1 << 60)
	p.copied(1 << 60)
	const large = 400 << 30
	below := p.context.area.Ptr
	for _, want := range []spec.Ptr{realTop - large, realTop - 2*large, below - large} {
		if at := p.Place(large); at != want {
			t.Errorf("it lies at %v, not at %v", at, want)
		}
	}
}
