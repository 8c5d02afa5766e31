package earlyreuse_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/tests/earlyreuse"
)

// program uses an allocator on a fake GPU. Steps that must succeed end the test if
// they do not.
type program struct {
	*testing.T
	gpu       *fakegpu.GPU
	allocator spec.Allocator
	s, t      spec.Stream
}

// newProgram wraps the reference, broken by somebody if that is not nil.
func newProgram(t *testing.T, schedule fakegpu.Schedule, settings string, broken func(*alloc.Allocator) spec.Allocator) *program {
	t.Helper()
	p := &program{T: t, gpu: fakegpu.New(fakegpu.Config{Schedule: schedule, Waits: fakegpu.WaitsDrain})}
	reference, err := alloc.New(p.gpu, alloc.Options{Settings: settings})
	p.must(err)
	p.allocator = reference
	if broken != nil {
		p.allocator = broken(reference)
	}
	p.allocator = earlyreuse.New(p.allocator, p.gpu)
	p.s, p.t = p.stream(), p.stream()
	return p
}

func (p *program) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *program) stream() spec.Stream {
	p.Helper()
	s, err := p.gpu.CreateStream(0)
	p.must(err)
	return s
}

const blockBytes = 3000

func (p *program) malloc(s spec.Stream) spec.Range {
	p.Helper()
	ptr, err := p.allocator.Malloc(spec.Request{Stream: s, Bytes: blockBytes})
	p.must(err)
	return spec.Range{Ptr: ptr, Bytes: blockBytes}
}

func (p *program) free(r spec.Range) {
	p.Helper()
	p.must(p.allocator.Free(r.Ptr))
}

func (p *program) write(s spec.Stream, name string, r spec.Range) {
	p.Helper()
	p.must(p.gpu.Launch(spec.Launch{Stream: s, Name: name, Writes: []spec.Range{r}}))
}

func (p *program) read(s spec.Stream, name string, r spec.Range) {
	p.Helper()
	p.must(p.gpu.Launch(spec.Launch{Stream: s, Name: name, Reads: []spec.Range{r}}))
}

// wait makes a stream wait for what is now in another one.
func (p *program) wait(s, on spec.Stream) {
	p.Helper()
	e, err := p.gpu.CreateEvent(0)
	p.must(err)
	p.must(p.gpu.RecordEvent(e, 0, on))
	p.must(p.gpu.WaitEvent(0, s, e))
	p.must(p.gpu.DestroyEvent(e))
}

// want wants just the hazards that have each of some words in them, or none.
func (p *program) want(words ...string) {
	p.Helper()
	hazards := p.gpu.Hazards()
	if len(words) == 0 && len(hazards) > 0 || len(words) > 0 && len(hazards) == 0 {
		p.Errorf("%d hazards, want some: %v\n%v", len(hazards), len(words) > 0, hazards)
	}
	for _, h := range hazards {
		for _, w := range words {
			if !strings.Contains(h.String(), w) {
				p.Errorf("%v\nhas not %q in it", h, w)
			}
		}
	}
}

// everyWay runs a test with plain and with expandable segments, under schedules of
// all kinds.
func everyWay(t *testing.T, test func(t *testing.T, schedule fakegpu.Schedule, settings string)) {
	schedules := map[string]func() fakegpu.Schedule{
		"at once": func() fakegpu.Schedule { return nil },
		"eager":   fakegpu.Eager,
		"lazy":    fakegpu.Lazy,
	}
	for seed := range uint64(5) {
		schedules[fmt.Sprintf("random %d", seed)] = func() fakegpu.Schedule { return fakegpu.Random(seed) }
	}
	for _, settings := range []string{"", "expandable_segments:True"} {
		for name, schedule := range schedules {
			t.Run(settings+" "+name, func(t *testing.T) { test(t, schedule(), settings) })
		}
	}
}

// useOnTwo is the classic program: memory of one stream is used on another, and freed
// while that may still be going on. It ends with the next owner's work.
func useOnTwo(p *program, recordStream bool) {
	p.Helper()
	r := p.malloc(p.s)
	p.write(p.s, "produce", r)
	p.wait(p.t, p.s)
	p.read(p.t, "consume", r)
	if recordStream {
		p.must(p.allocator.RecordStream(r.Ptr, 0, p.t))
	}
	p.free(r)
	p.write(p.s, "overwrite", p.malloc(p.s))
}

func TestRecordStream(t *testing.T) {
	everyWay(t, func(t *testing.T, schedule fakegpu.Schedule, settings string) {
		p := newProgram(t, schedule, settings, nil)
		useOnTwo(p, true)
		p.want()
	})
}

func TestForgottenRecordStream(t *testing.T) {
	everyWay(t, func(t *testing.T, schedule fakegpu.Schedule, settings string) {
		p := newProgram(t, schedule, settings, nil)
		useOnTwo(p, false)
		p.want("unordered", `kernel "consume"`, `kernel "overwrite"`, fmt.Sprintf("RecordStream(stream %v) before lifetime 1 was freed", p.t))
	})
}

// deaf does not listen to RecordStream.
type deaf struct{ *alloc.Allocator }

func (deaf) RecordStream(spec.Ptr, spec.Device, spec.Stream) error { return nil }

func TestAllocatorThatIgnoresRecordStream(t *testing.T) {
	everyWay(t, func(t *testing.T, schedule fakegpu.Schedule, settings string) {
		p := newProgram(t, schedule, settings, func(a *alloc.Allocator) spec.Allocator { return deaf{a} })
		useOnTwo(p, true)
		p.want("unordered", `kernel "consume"`, `kernel "overwrite"`)
	})
}

// generous gives memory of one stream to another.
type generous struct{ *alloc.Allocator }

func (g generous) Malloc(r spec.Request) (spec.Ptr, error) {
	r.Stream = 0
	return g.Allocator.Malloc(r)
}

func TestAllocatorThatIgnoresStreams(t *testing.T) {
	everyWay(t, func(t *testing.T, schedule fakegpu.Schedule, settings string) {
		p := newProgram(t, schedule, settings, func(a *alloc.Allocator) spec.Allocator { return generous{a} })
		r := p.malloc(p.s)
		p.write(p.s, "a", r)
		p.free(r)
		p.write(p.t, "b", p.malloc(p.t))
		p.want("unordered", fmt.Sprintf("memory that stream %v has used may go to stream %v only when", p.s, p.t))
	})
}

// TestEmptyCache: what goes back to the driver has been waited for.
func TestEmptyCache(t *testing.T) {
	everyWay(t, func(t *testing.T, schedule fakegpu.Schedule, settings string) {
		p := newProgram(t, schedule, settings, nil)
		for range 3 {
			useOnTwo(p, true)
			r := p.malloc(p.t)
			p.write(p.t, "more", r)
			p.free(r)
			p.must(p.allocator.EmptyCache())
		}
		p.want()
		if v := p.gpu.Violations(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// TestRefusedFree: a free that fails has not ended anything.
func TestRefusedFree(t *testing.T) {
	p := newProgram(t, nil, "", nil)
	r := p.malloc(p.s)
	p.must(p.allocator.RecordStream(r.Ptr, 0, p.t))
	p.must(p.gpu.FailCall("RecordEvent", 1, fakegpu.UnknownError("RecordEvent")))
	if err := p.allocator.Free(r.Ptr); err == nil {
		t.Fatal("the free was not refused")
	}
	p.write(p.s, "a", r)
	p.want()
	p.free(r)
	p.write(p.s, "b", r)
	p.want("not allocated", `kernel "b"`)
}

// TestUseBeyondRequest: a lifetime has the bytes that were asked for.
func TestUseBeyondRequest(t *testing.T) {
	p := newProgram(t, nil, "", nil)
	r := p.malloc(p.s)
	r.Bytes++
	p.write(p.s, "a", r)
	p.want("not allocated", "writes 1 bytes")
}

// TestThreads: what one thread has seen when it calls the allocator is known to the
// next caller.
func TestThreads(t *testing.T) {
	p := newProgram(t, nil, "", nil)
	r := p.malloc(p.s)
	p.read(p.t, "a", r)
	p.gpu.SetThread(1)
	p.must(p.gpu.SynchronizeStream(0, p.t))
	p.free(r)
	p.gpu.SetThread(0)
	p.write(p.s, "b", p.malloc(p.s))
	p.want()
}

// TestAbilities: the wrapper can do what is under it, and no more.
func TestAbilities(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	reference, err := alloc.New(gpu, alloc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	simple := struct{ spec.Allocator }{reference}
	pools := struct {
		spec.Allocator
		spec.PrivatePools
		spec.Checkpointer
	}{reference, reference, reference}
	for _, test := range []struct {
		name       string
		under      spec.Allocator
		pools, all bool
	}{
		{"complete", reference, true, true},
		{"pools", pools, true, false},
		{"simple", simple, false, false},
	} {
		w := earlyreuse.New(test.under, gpu)
		_, hasPools := w.(spec.PrivatePools)
		_, hasCheckpoints := w.(spec.Checkpointer)
		_, hasAll := w.(alloc.Abilities)
		if hasPools != test.pools || hasCheckpoints != test.pools || hasAll != test.all {
			t.Errorf("%s: pools %v, checkpoints %v, all abilities %v", test.name, hasPools, hasCheckpoints, hasAll)
		}
		if earlyreuse.Underlying(w) != test.under {
			t.Errorf("%s: another allocator is under it", test.name)
		}
		if p, err := w.Malloc(spec.Request{}); p != 0 || err != nil {
			t.Errorf("%s: nothing is at %v (%v)", test.name, p, err)
		}
		var invalid *spec.InvalidPointerError
		if err := w.Free(12345); !errors.As(err, &invalid) {
			t.Errorf("%s: a stray pointer was freed: %v", test.name, err)
		}
	}
	if earlyreuse.Underlying(reference) != spec.Allocator(reference) {
		t.Error("nothing is under an allocator that is not watched")
	}
}
