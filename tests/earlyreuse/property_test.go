package earlyreuse_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/tests/earlyreuse"
)

// TestCarefulPrograms: a program that does what is asked of it (memory is used on
// other streams only behind its own, and they are recorded) never meets a hazard,
// whatever it does and whenever the device gets to its work.
func TestCarefulPrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newCareful(t)
		t.Repeat(map[string]func(*rapid.T){
			"":            p.check,
			"malloc":      p.malloc,
			"malloc more": p.malloc,
			"use":         p.use,
			"share":       p.share,
			"free":        p.free,
			"free more":   p.free,
			"wait":        p.wait,
			"sync":        p.sync,
			"empty cache": p.emptyCache,
		})
	})
}

type careful struct {
	gpu       *fakegpu.GPU
	allocator spec.Allocator
	streams   []spec.Stream
	live      []spec.Range
	owner     map[spec.Ptr]spec.Stream
	event     spec.EventHandle
}

func newCareful(t *rapid.T) *careful {
	settings := rapid.SampledFrom([]string{
		"", "expandable_segments:True", "max_split_size_mb:21", "roundup_power2_divisions:4",
	}).Draw(t, "settings")
	gpu := fakegpu.New(fakegpu.Config{
		Devices:  fakegpu.Devices(1, 256*spec.MiB), // little, so that memory goes back and forth
		Schedule: fakegpu.Random(rapid.Uint64().Draw(t, "schedule")),
	})
	a, err := alloc.New(gpu, alloc.Options{Settings: settings})
	must(t, err)
	p := &careful{gpu: gpu, allocator: earlyreuse.New(a, gpu), streams: []spec.Stream{0}, owner: map[spec.Ptr]spec.Stream{}}
	for range 2 {
		s, err := gpu.CreateStream(0)
		must(t, err)
		p.streams = append(p.streams, s)
	}
	p.event, err = gpu.CreateEvent(0)
	must(t, err)
	return p
}

func must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p *careful) check(t *rapid.T) {
	if h := p.gpu.Hazards(); len(h) > 0 {
		t.Fatal(h[0])
	}
	if v := p.gpu.Violations(); len(v) > 0 {
		t.Fatal(v[0])
	}
}

func (p *careful) stream(t *rapid.T) spec.Stream {
	return rapid.SampledFrom(p.streams).Draw(t, "stream")
}

// pick is one of the allocated ranges; false if there is none.
func (p *careful) pick(t *rapid.T) (int, bool) {
	if len(p.live) == 0 {
		return 0, false
	}
	return rapid.IntRange(0, len(p.live)-1).Draw(t, "memory"), true
}

func (p *careful) malloc(t *rapid.T) {
	bytes := rapid.SampledFrom([]uint64{1, 700, 5000, spec.MiB, 3 * spec.MiB, 12 * spec.MiB, 40 * spec.MiB}).Draw(t, "bytes")
	s := p.stream(t)
	ptr, err := p.allocator.Malloc(spec.Request{Stream: s, Bytes: bytes})
	if err != nil {
		return // there is no more
	}
	r := spec.Range{Ptr: ptr, Bytes: bytes}
	p.live = append(p.live, r)
	p.owner[ptr] = s
	p.launch(t, s, r)
}

func (p *careful) launch(t *rapid.T, s spec.Stream, r spec.Range) {
	must(t, p.gpu.Launch(spec.Launch{Stream: s, Writes: []spec.Range{r}}))
}

func (p *careful) use(t *rapid.T) {
	if i, ok := p.pick(t); ok {
		p.launch(t, p.owner[p.live[i].Ptr], p.live[i])
	}
}

// share uses memory on any stream.
func (p *careful) share(t *rapid.T) {
	i, ok := p.pick(t)
	if !ok {
		return
	}
	s, r := p.stream(t), p.live[i]
	must(t, p.gpu.RecordEvent(p.event, 0, p.owner[r.Ptr]))
	must(t, p.gpu.WaitEvent(0, s, p.event))
	must(t, p.allocator.RecordStream(r.Ptr, 0, s))
	p.launch(t, s, r)
}

func (p *careful) free(t *rapid.T) {
	if i, ok := p.pick(t); ok {
		must(t, p.allocator.Free(p.live[i].Ptr))
		p.live = slices.Delete(p.live, i, i+1)
	}
}

func (p *careful) wait(t *rapid.T) {
	must(t, p.gpu.RecordEvent(p.event, 0, p.stream(t)))
	must(t, p.gpu.WaitEvent(0, p.stream(t), p.event))
}

func (p *careful) sync(t *rapid.T) { must(t, p.gpu.SynchronizeStream(0, p.stream(t))) }

func (p *careful) emptyCache(t *rapid.T) { must(t, p.allocator.EmptyCache()) }
