package fakegpu_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestEveryCallFailsCleanly lets each step of a program that makes every call of
// the driver fail, with each error that the call can give, and expects that
// nothing has changed: the device looks as before, and the step, done again, and
// all that follow end as if nothing had been. An error that is sticky ends the
// process instead.
func TestEveryCallFailsCleanly(t *testing.T) {
	undisturbed := newProgram(t)
	for i := range programSteps {
		undisturbed.step(t, i)
	}
	want := undisturbed.look(t)
	for i, s := range programSteps {
		faults := fakegpu.PossibleFaults(s.call)
		if len(faults) == 0 {
			t.Fatalf("%q is no call", s.call)
		}
		for _, fault := range faults {
			t.Run(fmt.Sprintf("%d %s/%v", i, s.call, fault), func(t *testing.T) { failStep(t, i, fault, want) })
		}
	}
}

func failStep(t *testing.T, failing int, fault error, want []string) {
	p := newProgram(t)
	for i := range failing {
		p.step(t, i)
	}
	before := p.look(t)
	if err := p.gpu.FailCall(programSteps[failing].call, 1, fault); err != nil {
		t.Fatal(err)
	}
	if err := programSteps[failing].do(p); !errors.Is(err, fault) {
		t.Fatalf("the call gave %v, planned was %v", err, fault)
	}
	if isSticky(fault) {
		if _, _, err := p.gpu.MemInfo(0); err == nil {
			t.Fatal("a call succeeds after a launch failure")
		}
		return
	}
	if diff := cmp.Diff(before, p.look(t)); diff != "" {
		t.Errorf("a failed call changed something:\n%s", diff)
	}
	for i := failing; i < len(programSteps); i++ {
		p.step(t, i)
	}
	if diff := cmp.Diff(want, p.look(t)); diff != "" {
		t.Errorf("the program ended differently:\n%s", diff)
	}
}

func isSticky(err error) bool {
	const launchFailure = 719
	var driver *spec.DriverError
	return errors.As(err, &driver) && driver.Code == launchFailure
}

// TestProgramMakesEveryCall keeps the program above complete.
func TestProgramMakesEveryCall(t *testing.T) {
	p := newProgram(t)
	for i := range programSteps {
		p.step(t, i)
	}
	made := 0
	for _, c := range p.gpu.Calls() {
		if fakegpu.PossibleFaults(c.Call) == nil {
			t.Errorf("%s was called and cannot fail", c.Call)
		}
		made++
	}
	const calls = 40
	if made != calls {
		t.Errorf("%d of %d calls are made: %v", made, calls, p.gpu.Calls())
	}
}

// TestSameTwice runs the program twice and expects the same after each step,
// handles and addresses included.
func TestSameTwice(t *testing.T) {
	var looks [2][][]string
	for run := range looks {
		p := newProgram(t)
		for i := range programSteps {
			p.step(t, i)
			looks[run] = append(looks[run], p.look(t))
		}
	}
	if diff := cmp.Diff(looks[0], looks[1]); diff != "" {
		t.Error(diff)
	}
}

// TestInject: what a trace can name can be injected, and nothing else can.
func TestInject(t *testing.T) {
	for _, c := range fakegpu.CallNames() {
		for _, name := range append(spec.FaultErrors(), "launch_failure") {
			gpu := fakegpu.New(fakegpu.Config{})
			err := gpu.Inject(spec.FaultSpec{Call: c, Nth: 1, Error: name})
			inTraces := slices.Contains(spec.DriverCalls(), c) && slices.Contains(spec.FaultErrors(), name)
			if (err == nil) != inTraces || (gpu.PendingFaults() == 1) != inTraces {
				t.Errorf("%s, %s: %v", c, name, err)
			}
		}
	}
	for _, c := range spec.DriverCalls() {
		if err := fakegpu.New(fakegpu.Config{}).Inject(spec.FaultSpec{Call: c, Nth: 1, Error: spec.FaultUnknown}); err != nil {
			t.Error(err)
		}
	}
}

// program uses everything that a device has.
type program struct {
	gpu, other     *fakegpu.GPU
	piece, view    spec.Ptr
	page, imported spec.PageHandle
	stream, side   spec.Stream
	event          spec.EventHandle
	node           spec.GraphNode
	graph          spec.Graph
	exec           spec.GraphExec
	foreign, fd    []byte
	opened         spec.Ptr
	data           []byte
}

// newProgram makes a machine with a second process that has shared a piece.
func newProgram(t *testing.T) *program {
	t.Helper()
	m := fakegpu.NewMachine(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
	p := &program{gpu: m.NewProcess(), other: m.NewProcess()}
	shared, err := p.other.Malloc(0, pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	if p.foreign, err = p.other.ShareMemory(0, shared); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *program) step(t *testing.T, i int) {
	t.Helper()
	if err := programSteps[i].do(p); err != nil {
		t.Fatalf("step %d, %s: %v", i, programSteps[i].call, err)
	}
}

// look is all that can be seen of the device without changing it.
func (p *program) look(t *testing.T) []string {
	t.Helper()
	free, _, err := p.other.MemInfo(0)
	if err != nil {
		t.Fatal(err)
	}
	look := append(p.gpu.Leaks(), fmt.Sprintf("%d bytes free", free))
	for _, v := range p.gpu.Violations() {
		look = append(look, v.String())
	}
	for _, s := range []spec.Stream{p.stream, p.side} {
		if s != 0 {
			status, err := p.gpu.CaptureStatus(0, s)
			look = append(look, fmt.Sprintf("stream %v: %+v %v", s, status, err))
		}
	}
	if p.event != 0 && !p.gpu.FreeForbidden() && p.graph == 0 {
		complete, err := p.gpu.QueryEvent(p.event)
		look = append(look, fmt.Sprintf("event: %v %v", complete, err))
	}
	return append(look, fmt.Sprintf("% x", p.data))
}

func (p *program) range8() spec.Range { return spec.Range{Ptr: p.piece, Bytes: 8} }

func readBack(p *program) error {
	data, err := p.gpu.ReadBack(0, p.side, p.range8())
	p.data = append(p.data, data...)
	return err
}

// programSteps make one call each.
var programSteps = slices.Concat(memorySteps, workSteps, captureSteps, endSteps)

type programStep struct {
	call string
	do   func(p *program) error
}

var memorySteps = []programStep{
	{"Properties", func(p *program) error { _, err := p.gpu.Properties(0); return err }},
	{"MemInfo", func(p *program) error { _, _, err := p.gpu.MemInfo(0); return err }},
	{"Malloc", func(p *program) (err error) { p.piece, err = p.gpu.Malloc(0, pageBytes); return err }},
	{"ReserveAddress", func(p *program) (err error) { p.view, err = p.gpu.ReserveAddress(0, pageBytes); return err }},
	{"CreatePage", func(p *program) (err error) {
		p.page, err = p.gpu.CreatePage(0, pageBytes, spec.SharePOSIX)
		return err
	}},
	{"MapPage", func(p *program) error { return p.gpu.MapPage(p.view, pageBytes, p.page) }},
	{"SetAccess", func(p *program) error { return p.gpu.SetAccess(p.view, pageBytes, 0) }},
	{"CanAccessPeer", func(p *program) error { _, err := p.gpu.CanAccessPeer(0, 1); return err }},
	{"EnablePeerAccess", func(p *program) error { return p.gpu.EnablePeerAccess(1, 0) }},
	{"ShareMemory", func(p *program) error { _, err := p.gpu.ShareMemory(0, p.piece); return err }},
	{"OpenMemory", func(p *program) (err error) { p.opened, err = p.gpu.OpenMemory(0, p.foreign); return err }},
	{"ExportPage", func(p *program) (err error) { p.fd, err = p.gpu.ExportPage(p.page, spec.SharePOSIX); return err }},
	{"ImportPage", func(p *program) (err error) {
		p.imported, err = p.gpu.ImportPage(p.gpu.ProcessID(), spec.SharePOSIX, p.fd)
		return err
	}},
}

var workSteps = []programStep{
	{"CreateStream", func(p *program) (err error) { p.stream, err = p.gpu.CreateStream(0); return err }},
	{"CreateStream", func(p *program) (err error) { p.side, err = p.gpu.CreateStream(0); return err }},
	{"CreateEvent", func(p *program) (err error) { p.event, err = p.gpu.CreateEvent(0); return err }},
	{"Launch", func(p *program) error {
		return p.gpu.Launch(spec.Launch{Stream: p.stream, Writes: []spec.Range{p.range8()}})
	}},
	{"Fill", func(p *program) error { return p.gpu.Fill(0, p.stream, spec.Range{Ptr: p.view, Bytes: 4}, 7) }},
	{"Copy", func(p *program) error {
		return p.gpu.Copy(spec.Copy{Stream: p.stream, Dst: p.piece, Src: p.view, Bytes: 4})
	}},
	{"RecordEvent", func(p *program) error { return p.gpu.RecordEvent(p.event, 0, p.stream) }},
	{"WaitEvent", func(p *program) error { return p.gpu.WaitEvent(0, p.side, p.event) }},
	{"QueryEvent", func(p *program) error { _, err := p.gpu.QueryEvent(p.event); return err }},
	{"SynchronizeEvent", func(p *program) error { return p.gpu.SynchronizeEvent(p.event) }},
	{"SynchronizeStream", func(p *program) error { return p.gpu.SynchronizeStream(0, p.side) }},
	{"SynchronizeDevice", func(p *program) error { return p.gpu.SynchronizeDevice(0) }},
	{"ReadBack", readBack},
}

var captureSteps = []programStep{
	{"BeginCapture", func(p *program) error { return p.gpu.BeginCapture(0, p.stream, spec.CaptureRelaxed) }},
	{"Launch", func(p *program) error {
		return p.gpu.Launch(spec.Launch{Stream: p.stream, Writes: []spec.Range{p.range8()}})
	}},
	{"CaptureStatus", func(p *program) error {
		status, err := p.gpu.CaptureStatus(0, p.stream)
		if err == nil {
			p.node = status.Terminals[0]
		}
		return err
	}},
	{"NodeDependencies", func(p *program) error { _, err := p.gpu.NodeDependencies(p.node); return err }},
	{"EndCapture", func(p *program) (err error) { p.graph, err = p.gpu.EndCapture(0, p.stream); return err }},
	{"Instantiate", func(p *program) (err error) { p.exec, err = p.gpu.Instantiate(p.graph); return err }},
	{"LaunchGraph", func(p *program) error { return p.gpu.LaunchGraph(p.exec, 0, p.side) }},
	{"ReadBack", readBack},
	{"DestroyGraphExec", func(p *program) error { return p.gpu.DestroyGraphExec(p.exec) }},
	{"DestroyGraph", func(p *program) error { return p.gpu.DestroyGraph(p.graph) }},
}

var endSteps = []programStep{
	{"DestroyEvent", func(p *program) error {
		err := p.gpu.DestroyEvent(p.event)
		if err == nil {
			p.event = 0
		}
		return err
	}},
	{"DestroyStream", func(p *program) error {
		err := p.gpu.DestroyStream(0, p.side)
		if err == nil {
			p.side = 0
		}
		return err
	}},
	{"UnmapPage", func(p *program) error { return p.gpu.UnmapPage(p.view, pageBytes) }},
	{"ReleasePage", func(p *program) error { return p.gpu.ReleasePage(p.page) }},
	{"ReleasePage", func(p *program) error { return p.gpu.ReleasePage(p.imported) }},
	{"FreeAddress", func(p *program) error { return p.gpu.FreeAddress(p.view, pageBytes) }},
	{"CloseMemory", func(p *program) error { return p.gpu.CloseMemory(0, p.opened) }},
	{"Free", func(p *program) error { return p.gpu.Free(0, p.piece) }},
}
