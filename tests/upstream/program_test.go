package upstream

import (
	"strings"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
)

// program is a program that uses the allocator, as an upstream test is one: it
// has tensors, streams, graphs and pools, and every step that must succeed ends the
// test if it does not. When the test is over everything is put away, all invariants
// are checked, and nothing may be left (tearDown).
type program struct {
	t         *testing.T
	gpu       *fakegpu.GPU
	allocator *alloc.Allocator
	device    spec.Device
	caller    spec.Thread // who allocates
	owned     *owned
}

// owned is what a program has made, shared by its views (thread, on).
type owned struct {
	graphs    []*graph
	pools     []*memPool
	lastPool  uint64
	capturing *graph
}

// setup says what a program runs on. The zero value is a device of 80 GiB and an
// allocator without settings.
type setup struct {
	settings string
	devices  []fakegpu.DeviceConfig
	waits    fakegpu.WaitPolicy
}

// The default stream of every device.
const mainStream spec.Stream = 0

const (
	minBlock    = 512
	smallSize   = 1 * spec.MiB
	smallBuffer = 2 * spec.MiB
	largeBuffer = 20 * spec.MiB
)

func newProgram(t *testing.T, s setup) *program {
	t.Helper()
	return newProcess(t, fakegpu.NewMachine(fakegpu.Config{Devices: s.devices, Waits: s.waits}), s.settings)
}

// newProcess is a program that shares its machine with others.
func newProcess(t *testing.T, machine *fakegpu.Machine, settings string) *program {
	t.Helper()
	gpu := machine.NewProcess()
	p := &program{t: t, gpu: gpu, allocator: newAllocator(t, gpu, settings), owned: &owned{}}
	t.Cleanup(p.tearDown)
	return p
}

// newAllocator is an allocator alone, for a driver that is not just a fake GPU.
func newAllocator(t *testing.T, driver spec.Driver, settings string) *alloc.Allocator {
	t.Helper()
	allocator, err := alloc.New(driver, alloc.Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	return allocator
}

// plainAndExpandable runs a test twice, as upstream does: test_cuda.py, and the
// same with expandable segments (test_cuda_expandable_segments.py).
func plainAndExpandable(t *testing.T, test func(t *testing.T, p *program)) {
	t.Run("plain", func(t *testing.T) { test(t, newProgram(t, setup{})) })
	t.Run("expandable", func(t *testing.T) { test(t, newProgram(t, setup{settings: "expandable_segments:True"})) })
}

// expandable reports whether expandable segments are on.
func (p *program) expandable() bool { return p.allocator.Config().ExpandableSegments }

// thread is the same program, seen from another thread.
func (p *program) thread(id spec.Thread) *program {
	view := *p
	view.caller = id
	return &view
}

// on is the same program, with another device current.
func (p *program) on(dev spec.Device) *program {
	view := *p
	view.device = dev
	return &view
}

// must ends the test if a step failed.
func (p *program) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// Streams

func (p *program) newStream() spec.Stream {
	p.t.Helper()
	s, err := p.gpu.CreateStream(p.device)
	p.must(err)
	return s
}

// busy is a long kernel: what is given to the stream from here on does not complete
// before the next synchronize.
func (p *program) busy(s spec.Stream) {
	p.t.Helper()
	p.must(p.gpu.Busy(p.device, s))
}

// synchronize lets all work complete (torch.cuda.synchronize).
func (p *program) synchronize() {
	p.t.Helper()
	p.gpu.DrainAll()
	p.must(p.gpu.SynchronizeDevice(p.device))
}

// wait makes a stream wait for what is in another one now (Stream.wait_stream).
func (p *program) wait(s, forStream spec.Stream) {
	p.t.Helper()
	event, err := p.gpu.CreateEvent(p.device)
	p.must(err)
	p.must(p.gpu.RecordEvent(event, p.device, forStream))
	p.must(p.gpu.WaitEvent(p.device, s, event))
	p.must(p.gpu.DestroyEvent(event))
}

// check looks at all invariants that can be seen without a history.
func (p *program) check() {
	p.t.Helper()
	o, err := invariant.Observe(p.allocator, spec.DefaultGeometry(), p.gpu.DeviceCount())
	p.must(err)
	violations, err := invariant.CheckAll(o)
	p.must(err)
	for _, v := range violations {
		p.t.Error(v)
	}
}

// tearDown puts everything away. It is part of the test: nobody touched memory that
// was not theirs, and nothing is lost.
func (p *program) tearDown() {
	if p.t.Failed() {
		return // what stands there now is of no meaning
	}
	p.gpu.DrainAll()
	p.check()
	for _, g := range p.owned.graphs {
		g.reset()
	}
	for _, m := range p.owned.pools {
		m.delete()
	}
	for _, b := range blocks(p.snapshot().Segments) {
		if b.State == spec.ActiveAllocated {
			p.must(p.allocator.Free(b.Address))
		}
	}
	p.must(p.allocator.Close())
	p.check()
	for _, v := range p.gpu.Violations() {
		p.t.Error(v)
	}
	for _, leak := range p.gpu.Leaks() {
		if !strings.HasPrefix(leak, "stream ") {
			p.t.Error("left: ", leak)
		}
	}
}
