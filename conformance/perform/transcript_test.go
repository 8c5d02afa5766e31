package perform_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/alloc"
	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
)

// TestTranscripts performs the traces in testdata, and compares what the allocator and the device are asked for, and
// what comes of each operation:
//
//	perform                      by the reference
//	perform able                 by the reference with the abilities of other allocators too
//	perform unable               by an allocator that can do only what every one can
//	perform absent               an allocator that cannot be made
//	perform own                  by the reference, on devices that place memory by themselves
//	perform fails=CALL           by the reference; the first such call of the device fails
//	perform reuse                by the reference; the trace entries of an operation are gone with the next one
//
// A line begins with the operation, and has behind it the calls of the allocator that are about the operation, with
// those of the device that the operation and the allocator make.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			how, fails := "", ""
			if d.MaybeScanArgs(t, "fails", &fails); fails == "" && len(d.CmdArgs) > 0 {
				how = d.CmdArgs[0].Key
			}
			p := &performed{}
			if err := p.all(d.Input, how, fails); err != nil {
				fmt.Fprintf(&p.log, "error: %v\n", err)
			}
			return p.log.String()
		})
	})
}

// performed is a trace that is performed.
type performed struct {
	log   strings.Builder
	calls []string // of the present operation
}

func (p *performed) call(name string, err error, arguments ...any) {
	text := fmt.Sprintf("%s%v", name, arguments)
	if err != nil {
		text += " fails"
	}
	p.calls = append(p.calls, text)
}

func (p *performed) all(text, how, fails string) error {
	in, err := trace.NewReader(strings.NewReader(text), "trace")
	if err != nil {
		return err
	}
	player, err := perform.NewOn(in.Header(), p.factory(how), hardware(how), func(g *fakegpu.GPU) perform.Device { return &device{g, p} })
	if err != nil {
		return err
	}
	in.TolerateMisuse() // so that an operation may name what is not there
	if how == "reuse" {
		player.Reuse()
	}
	if fails != "" {
		if err := player.GPU().FailCall(fails, 1, errors.New("it is to fail")); err != nil {
			return err
		}
	}
	fmt.Fprintf(&p.log, "begins: %s\n", strings.Join(p.calls, ", "))
	for {
		op, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		p.calls = nil
		result := player.Perform(op)
		fmt.Fprintf(&p.log, "%s: %s\n%s", op.Kind, strings.Join(p.calls, ", "), inWords(&result))
	}
	p.calls = nil
	err = player.Close()
	fmt.Fprintf(&p.log, "ends: %s\n", strings.Join(p.calls, ", "))
	for _, leak := range player.Leaks() {
		fmt.Fprintf(&p.log, "  left: %s\n", leak)
	}
	for _, hazard := range player.GPU().Hazards() {
		fmt.Fprintf(&p.log, "  hazard: %v\n", hazard)
	}
	return err
}

// hardware are devices that place memory by themselves, if they are asked for.
func hardware(how string) perform.Hardware {
	if how != "own" {
		return nil
	}
	return func(c *fakegpu.Config) { c.Addresses = fakegpu.RealLike }
}

// inWords is what came of an operation, apart from what was called.
func inWords(r *perform.Result) string {
	var b strings.Builder
	if r.Err != nil {
		fmt.Fprintf(&b, "  error: %v\n", r.Err)
	}
	if r.Skipped {
		b.WriteString("  skipped\n")
	}
	if r.Ptr != 0 {
		fmt.Fprintf(&b, "  at %v\n", r.Ptr)
	}
	for _, e := range r.Entries {
		fmt.Fprintf(&b, "  entry: %s\n", trace.EntryInWords(e))
	}
	if r.Freed != nil {
		fmt.Fprintf(&b, "  freed meanwhile: %v\n", r.Freed)
	}
	if r.AddressRanges != nil {
		fmt.Fprintf(&b, "  addresses: %v\n", r.AddressRanges)
	}
	if d := r.Restored; len(d.Created)+len(d.Freed) > 0 {
		fmt.Fprintf(&b, "  restored: %v allocated, %v freed\n", d.Created, d.Freed)
	}
	if r.Tree != nil {
		fmt.Fprintf(&b, "  tree: %+v\n", *r.Tree)
	}
	return b.String()
}

// factory makes the allocator.
func (p *performed) factory(how string) perform.Factory {
	return func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		a, err := reference.New(driver, h)
		if err != nil {
			return nil, err
		}
		switch how {
		case "absent":
			return nil, errors.New("there is none")
		case "unable":
			return struct{ spec.Allocator }{a}, nil
		case "able":
			return &ableAllocator{told{a.(*alloc.Allocator), p}}, nil
		}
		return &told{a.(*alloc.Allocator), p}, nil
	}
}

// told is the reference, which tells what it is asked for where that can be seen nowhere else.
type told struct {
	*alloc.Allocator
	p *performed
}

func (a *told) SetMemoryFraction(dev spec.Device, fraction float64) error {
	err := a.Allocator.SetMemoryFraction(dev, fraction)
	a.p.call("set_memory_fraction", err, dev, fraction)
	return err
}

func (a *told) Configure(settings string) error {
	err := a.Allocator.Configure(settings)
	a.p.call("configure", err, settings)
	return err
}

func (a *told) ResetPeakStats(dev spec.Device) error {
	a.p.call("reset_peak_stats", nil, dev)
	return a.Allocator.ResetPeakStats(dev)
}

func (a *told) ResetAccumulatedStats(dev spec.Device) error {
	a.p.call("reset_accumulated_stats", nil, dev)
	return a.Allocator.ResetAccumulatedStats(dev)
}

func (a *told) Enable(on bool) {
	a.p.call("enable", nil, on)
	a.Allocator.Enable(on)
}

func (a *told) RecordStream(ptr spec.Ptr, dev spec.Device, s spec.Stream) error {
	err := a.Allocator.RecordStream(ptr, dev, s)
	a.p.call("record_stream", err, ptr, dev, s)
	return err
}

func (a *told) CreatePool(dev spec.Device, id spec.PoolID, o spec.PoolOptions) error {
	err := a.Allocator.CreatePool(dev, id, o)
	a.p.call("create_pool", err, dev, id, fmt.Sprintf("%+v", o))
	return err
}

func (a *told) BeginAllocateToPool(dev spec.Device, id spec.PoolID, filter spec.RequestFilter) error {
	err := a.Allocator.BeginAllocateToPool(dev, id, filter)
	a.p.call("begin_allocate_to_pool", err, dev, id)
	return err
}

func (a *told) EndAllocateToPool(dev spec.Device, id spec.PoolID) error {
	err := a.Allocator.EndAllocateToPool(dev, id)
	a.p.call("end_allocate_to_pool", err, dev, id)
	return err
}

func (a *told) ReleasePool(dev spec.Device, id spec.PoolID) error {
	err := a.Allocator.ReleasePool(dev, id)
	a.p.call("release_pool", err, dev, id)
	return err
}

func (a *told) EmptyPool(id spec.PoolID) error {
	err := a.Allocator.EmptyPool(id)
	a.p.call("empty_pool", err, id)
	return err
}

func (a *told) EnablePeerAccess(dev, peer spec.Device) error {
	err := a.Allocator.EnablePeerAccess(dev, peer)
	a.p.call("enable_peer_access", err, dev, peer)
	return err
}

func (a *told) MarkCaptureBegin(dev spec.Device) error {
	err := a.Allocator.MarkCaptureBegin(dev)
	a.p.call("mark_capture_begin", err, dev)
	return err
}

func (a *told) MarkCaptureEnd(dev spec.Device) error {
	err := a.Allocator.MarkCaptureEnd(dev)
	a.p.call("mark_capture_end", err, dev)
	return err
}

func (a *told) For(c spec.Caller) spec.Allocator {
	a.p.call("for", nil, fmt.Sprintf("%+v", c))
	return a.Allocator.For(c)
}

// ableAllocator has the abilities of other allocators too.
type ableAllocator struct{ told }

func (*ableAllocator) Aligns() bool  { return true }
func (*ableAllocator) Resizes() bool { return true }
func (*ableAllocator) Sleeps() bool  { return true }

func (a *ableAllocator) Sleep() error {
	a.p.call("sleep", nil)
	return nil
}

func (a *ableAllocator) Wake() error {
	a.p.call("wake", nil)
	return nil
}

func (a *ableAllocator) MallocAligned(r spec.Request, align uint64) (spec.Ptr, error) {
	a.p.call("malloc_aligned", nil, fmt.Sprintf("%+v", r), align)
	return a.Malloc(r)
}

// Resize cannot make anything larger than 4000 bytes.
func (a *ableAllocator) Resize(ptr spec.Ptr, bytes uint64) (err error) {
	if bytes > 4000 {
		err = &spec.OutOfMemoryError{}
	}
	a.p.call("resize", err, ptr, bytes)
	return err
}

func (a *ableAllocator) FreeOn(ptr spec.Ptr, dev spec.Device, s spec.Stream, thread spec.Thread) error {
	a.p.call("free_on", nil, ptr, dev, s, thread)
	return a.Free(ptr)
}

func (a *ableAllocator) EndThread(thread spec.Thread) error {
	a.p.call("end_thread", nil, thread)
	return nil
}

// For gives the whole allocator: only what is asked for is looked at.
func (a *ableAllocator) For(c spec.Caller) spec.Allocator {
	a.p.call("for", nil, fmt.Sprintf("%+v", c))
	return a
}

// device is the fake one, which tells of the calls of the driver, and of what the trace says that the device does.
type device struct {
	*fakegpu.GPU
	p *performed
}

func (d *device) Malloc(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	at, err := d.GPU.Malloc(dev, bytes)
	d.p.call("Malloc", err, dev, bytes, at)
	return at, err
}

func (d *device) Free(dev spec.Device, at spec.Ptr) error {
	err := d.GPU.Free(dev, at)
	d.p.call("Free", err, dev, at)
	return err
}

func (d *device) CreateEvent(dev spec.Device) (spec.EventHandle, error) {
	ev, err := d.GPU.CreateEvent(dev)
	d.p.call("CreateEvent", err, dev, ev)
	return ev, err
}

func (d *device) RecordEvent(ev spec.EventHandle, dev spec.Device, s spec.Stream) error {
	err := d.GPU.RecordEvent(ev, dev, s)
	d.p.call("RecordEvent", err, ev, dev, s)
	return err
}

func (d *device) WaitEvent(dev spec.Device, s spec.Stream, ev spec.EventHandle) error {
	err := d.GPU.WaitEvent(dev, s, ev)
	d.p.call("WaitEvent", err, dev, s, ev)
	return err
}

func (d *device) DestroyEvent(ev spec.EventHandle) error {
	err := d.GPU.DestroyEvent(ev)
	d.p.call("DestroyEvent", err, ev)
	return err
}

func (d *device) QueryEvent(ev spec.EventHandle) (bool, error) {
	complete, err := d.GPU.QueryEvent(ev)
	d.p.call("QueryEvent", err, ev, complete)
	return complete, err
}

func (d *device) SynchronizeEvent(ev spec.EventHandle) error {
	err := d.GPU.SynchronizeEvent(ev)
	d.p.call("SynchronizeEvent", err, ev)
	return err
}

func (d *device) SynchronizeStream(dev spec.Device, s spec.Stream) error {
	err := d.GPU.SynchronizeStream(dev, s)
	d.p.call("SynchronizeStream", err, dev, s)
	return err
}

func (d *device) SynchronizeDevice(dev spec.Device) error {
	err := d.GPU.SynchronizeDevice(dev)
	d.p.call("SynchronizeDevice", err, dev)
	return err
}

func (d *device) Launch(l spec.Launch) error {
	err := d.GPU.Launch(l)
	d.p.call("Launch", err, fmt.Sprintf("%+v", l))
	return err
}

func (d *device) Copy(c spec.Copy) error {
	err := d.GPU.Copy(c)
	d.p.call("Copy", err, fmt.Sprintf("%+v", c))
	return err
}

func (d *device) CreateStream(dev spec.Device) (spec.Stream, error) {
	s, err := d.GPU.CreateStream(dev)
	d.p.call("CreateStream", err, dev, s)
	return s, err
}

func (d *device) DestroyStream(dev spec.Device, s spec.Stream) error {
	err := d.GPU.DestroyStream(dev, s)
	d.p.call("DestroyStream", err, dev, s)
	return err
}

func (d *device) BeginCapture(dev spec.Device, s spec.Stream, mode spec.CaptureMode) error {
	err := d.GPU.BeginCapture(dev, s, mode)
	d.p.call("BeginCapture", err, dev, s, mode)
	return err
}

func (d *device) EndCapture(dev spec.Device, s spec.Stream) (spec.Graph, error) {
	g, err := d.GPU.EndCapture(dev, s)
	d.p.call("EndCapture", err, dev, s, g)
	return g, err
}

func (d *device) Instantiate(g spec.Graph) (spec.GraphExec, error) {
	x, err := d.GPU.Instantiate(g)
	d.p.call("Instantiate", err, g, x)
	return x, err
}

func (d *device) LaunchGraph(x spec.GraphExec, dev spec.Device, s spec.Stream) error {
	err := d.GPU.LaunchGraph(x, dev, s)
	d.p.call("LaunchGraph", err, x, dev, s)
	return err
}

func (d *device) DestroyGraph(g spec.Graph) error {
	err := d.GPU.DestroyGraph(g)
	d.p.call("DestroyGraph", err, g)
	return err
}

func (d *device) DestroyGraphExec(x spec.GraphExec) error {
	err := d.GPU.DestroyGraphExec(x)
	d.p.call("DestroyGraphExec", err, x)
	return err
}

func (d *device) AddStream(dev spec.Device, s spec.Stream) error {
	err := d.GPU.AddStream(dev, s)
	d.p.call("AddStream", err, dev, s)
	return err
}

func (d *device) Busy(dev spec.Device, s spec.Stream) error {
	err := d.GPU.Busy(dev, s)
	d.p.call("Busy", err, dev, s)
	return err
}

func (d *device) Drain(dev spec.Device, s spec.Stream) error {
	err := d.GPU.Drain(dev, s)
	d.p.call("Drain", err, dev, s)
	return err
}

func (d *device) SetFreeMemory(dev spec.Device, bytes uint64) {
	d.p.call("SetFreeMemory", nil, dev, bytes)
	d.GPU.SetFreeMemory(dev, bytes)
}

func (d *device) Inject(f spec.FaultSpec) error {
	err := d.GPU.Inject(f)
	d.p.call("Inject", err, fmt.Sprintf("%+v", f))
	return err
}
