package fakegpu_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestConcurrentUse lets many goroutines, two to a process, use one machine at
// once, each with its own things; nothing fails and nothing is left over. What it
// is for is the race detector.
func TestConcurrentUse(t *testing.T) {
	const workers, rounds = 8, 200
	m := fakegpu.NewMachine(fakegpu.Config{Devices: fakegpu.Devices(2, workers*2*pageBytes)})
	var processes [workers / 2]*fakegpu.GPU
	for i := range processes {
		processes[i] = m.NewProcess()
	}
	problems := make(chan error, workers)
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			for range rounds {
				if err := useOnce(processes[i/2], spec.Device(i%2)); err != nil {
					problems <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(problems)
	for err := range problems {
		t.Error(err)
	}
	for i, g := range processes {
		if diff := cmp.Diff([]string(nil), g.Leaks()); diff != "" {
			t.Errorf("process %d: %s", i, diff)
		}
	}
	for dev := range spec.Device(2) {
		free, total, err := processes[0].MemInfo(dev)
		if free != total || err != nil {
			t.Errorf("device %d: %d of %d bytes free (%v)", dev, free, total, err)
		}
	}
}

// useOnce takes and returns some of everything.
func useOnce(g *fakegpu.GPU, dev spec.Device) error {
	var first error
	keep := func(what string, err error) {
		if err != nil && first == nil {
			first = fmt.Errorf("%s: %w", what, err)
		}
	}
	p, err := g.Malloc(dev, pageBytes)
	keep("Malloc", err)
	s, err := g.CreateStream(dev)
	keep("CreateStream", err)
	e, err := g.CreateEvent(dev)
	keep("CreateEvent", err)
	keep("Busy", g.Busy(dev, s))
	keep("Fill", g.Fill(dev, s, spec.Range{Ptr: p, Bytes: 8}, 1))
	keep("RecordEvent", g.RecordEvent(e, dev, s))
	if complete, err := g.QueryEvent(e); complete || err != nil {
		keep("QueryEvent while busy", fmt.Errorf("complete: %v, %w", complete, err))
	}
	keep("Drain", g.Drain(dev, s))
	keep("SynchronizeEvent", g.SynchronizeEvent(e))
	data, err := g.ReadBack(dev, s, spec.Range{Ptr: p, Bytes: 1})
	keep("ReadBack", err)
	if len(data) != 1 || data[0] != 1 {
		keep("ReadBack", fmt.Errorf("% x", data))
	}
	keep("BeginCapture", g.BeginCapture(dev, s, spec.CaptureRelaxed))
	keep("Launch", g.Launch(spec.Launch{Device: dev, Stream: s}))
	graph, err := g.EndCapture(dev, s)
	keep("EndCapture", err)
	keep("DestroyGraph", g.DestroyGraph(graph))
	keep("DestroyEvent", g.DestroyEvent(e))
	keep("DestroyStream", g.DestroyStream(dev, s))
	keep("Free", g.Free(dev, p))
	return first
}

// TestEveryEventCallLocks has a goroutine for each call about events, which calls nothing else,
// while others create and destroy events. Nothing but the machine's lock orders them, so the race
// detector notices a call that does not take it, in whatever order they run.
func TestEveryEventCallLocks(t *testing.T) {
	const rounds = 50
	g := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, 1<<30)})
	var old [rounds]spec.EventHandle
	events := map[string]spec.EventHandle{"record": 0, "query": 0, "synchronize": 0, "wait": 0}
	create := func() spec.EventHandle {
		e, err := g.CreateEvent(0)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for i := range old {
		old[i] = create()
	}
	for name := range events {
		events[name] = create()
	}
	calls := map[string]func(i int) error{
		"CreateEvent":      func(int) error { _, err := g.CreateEvent(0); return err },
		"DestroyEvent":     func(i int) error { return g.DestroyEvent(old[i]) },
		"RecordEvent":      func(int) error { return g.RecordEvent(events["record"], 0, 0) },
		"QueryEvent":       func(int) error { _, err := g.QueryEvent(events["query"]); return err },
		"SynchronizeEvent": func(int) error { return g.SynchronizeEvent(events["synchronize"]) },
		"WaitEvent":        func(int) error { return g.WaitEvent(0, 0, events["wait"]) },
	}
	var group sync.WaitGroup
	for name, call := range calls {
		group.Go(func() {
			for i := range rounds {
				if err := call(i); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	group.Wait()
}
