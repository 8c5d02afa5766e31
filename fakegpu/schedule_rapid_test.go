package fakegpu_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestOrderDecides: a program in which all conflicting accesses, of one lifetime or not,
// are in order gives the same under every schedule. So whatever the definition of
// order promises (hazard_reference_test.go), the device keeps. Programs are drawn at
// random, and the steps that would be a race are left out.
func TestOrderDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newProgramOrder(rapid.Bool().Draw(t, "blocking"))
		var steps []orderStep
		for _, step := range rapid.SliceOfN(rapid.Custom(drawStep), 1, 60).Draw(t, "steps") {
			if next := o.after(step); next.races == 0 {
				o, steps = next, append(steps, step)
			}
		}
		want := runSteps(t, steps, o.blocking, fakegpu.Eager())
		schedules := []fakegpu.Schedule{fakegpu.Lazy()}
		for range 4 {
			schedules = append(schedules, fakegpu.Random(rapid.Uint64().Draw(t, "seed")))
		}
		for i, s := range schedules {
			if got := runSteps(t, steps, o.blocking, s); !bytes.Equal(got, want) {
				t.Fatalf("schedule %d changes the outcome of a program without races: %+v", i, steps)
			}
		}
	})
}

// orderStep is a call, with all that it may need.
type orderStep struct {
	Call                 string
	Stream, Event        int
	Read, Write, ReadToo int // cells
}

func drawStep(t *rapid.T) orderStep {
	cell := rapid.IntRange(0, 3)
	return orderStep{
		Call: rapid.SampledFrom([]string{
			"kernel", "kernel", "kernel", "graph", "record", "wait", "wait", "sync", "sync event", "read",
		}).Draw(t, "call"),
		Stream: rapid.IntRange(0, 2).Draw(t, "stream"),
		Event:  rapid.IntRange(0, 1).Draw(t, "event"),
		Read:   cell.Draw(t, "read"), Write: cell.Draw(t, "write"), ReadToo: cell.Draw(t, "read too"),
	}
}

// orderRun is one run of a program.
type orderRun struct {
	gpu     *fakegpu.GPU
	memory  spec.Ptr
	streams []spec.Stream
	events  []spec.EventHandle
	exec    spec.GraphExec
	read    []byte
}

// runSteps gives what was read and what memory holds in the end.
func runSteps(t *rapid.T, steps []orderStep, blocking bool, s fakegpu.Schedule) []byte {
	t.Helper()
	r := &orderRun{
		gpu:     fakegpu.New(fakegpu.Config{Schedule: s, BlockingStreams: blocking}),
		streams: []spec.Stream{0},
	}
	err := r.prepare()
	for _, step := range steps {
		err = errors.Join(err, r.do(step))
	}
	r.gpu.DrainAll()
	data, last := r.gpu.ReadBack(0, 0, spec.Range{Ptr: r.memory, Bytes: 4 * 8})
	if err := errors.Join(err, last); err != nil {
		t.Fatal(err)
	}
	return append(r.read, data...)
}

func (r *orderRun) prepare() (err error) {
	r.memory, err = r.gpu.Malloc(0, 4*8)
	for range 2 {
		s, failed := r.gpu.CreateStream(0)
		e, failedToo := r.gpu.CreateEvent(0)
		r.streams, r.events = append(r.streams, s), append(r.events, e)
		err = errors.Join(err, failed, failedToo)
	}
	return errors.Join(err, r.capture())
}

// capture makes a graph whose first node is before two others, of which the second
// alone is before the last.
func (r *orderRun) capture() error {
	a, b, e := r.streams[1], r.streams[2], r.events[0]
	err := errors.Join(
		r.gpu.BeginCapture(0, a, spec.CaptureRelaxed),
		r.gpu.Launch(r.kernel(a, 0, 1)),
		r.gpu.RecordEvent(e, 0, a),
		r.gpu.WaitEvent(0, b, e),
		r.gpu.Launch(r.kernel(a, 1, 2)),
		r.gpu.Launch(r.kernel(b, 1, 3)),
		r.gpu.RecordEvent(e, 0, b),
		r.gpu.Launch(r.kernel(b, 3, 3)),
		r.gpu.RecordEvent(e, 0, b),
		r.gpu.WaitEvent(0, a, e),
	)
	graph, ended := r.gpu.EndCapture(0, a)
	var instantiated error
	r.exec, instantiated = r.gpu.Instantiate(graph)
	// The events have not been recorded, as far as the program is concerned.
	destroyed := r.gpu.DestroyEvent(e)
	fresh, created := r.gpu.CreateEvent(0)
	r.events[0] = fresh
	return errors.Join(err, ended, instantiated, destroyed, created)
}

func (r *orderRun) cell(i int) spec.Range {
	return spec.Range{Ptr: r.memory + spec.Ptr(i*8), Bytes: 8}
}

func (r *orderRun) kernel(s spec.Stream, reads, writes int) spec.Launch {
	return spec.Launch{Stream: s, Reads: []spec.Range{r.cell(reads)}, Writes: []spec.Range{r.cell(writes)}}
}

func (r *orderRun) do(step orderStep) error {
	s, event := r.streams[step.Stream], r.events[step.Event]
	switch step.Call {
	case "kernel":
		l := r.kernel(s, step.Read, step.Write)
		l.Reads = append(l.Reads, r.cell(step.ReadToo))
		return r.gpu.Launch(l)
	case "graph":
		return r.gpu.LaunchGraph(r.exec, 0, s)
	case "record":
		return r.gpu.RecordEvent(event, 0, s)
	case "wait":
		return r.gpu.WaitEvent(0, s, event)
	case "sync":
		return r.gpu.SynchronizeStream(0, s)
	case "sync event":
		return r.gpu.SynchronizeEvent(event)
	}
	data, err := r.gpu.ReadBack(0, s, r.cell(step.Read))
	r.read = append(r.read, data...)
	return err
}
