package graphtree

import (
	"fmt"
	"slices"
	"strings"

	"gaugeblock/fakegpu"
	"gaugeblock/graphtree"
	"gaugeblock/spec"
)

// steps writes down the calls that a manager makes of its device and its allocator, and lets some of them fail.
type steps struct {
	names []string
	log   strings.Builder
	fails []int // their numbers, from 1
}

func (s *steps) step(name string, args ...any) error {
	s.names = append(s.names, name)
	fmt.Fprintln(&s.log, name, args)
	if slices.Contains(s.fails, len(s.names)) {
		return fmt.Errorf("%s fails", name)
	}
	return nil
}

// failed are the names of the calls that did fail, but for what the filter of a capture asks, which takes an error for no.
func (s *steps) failed() (names []string) {
	for _, number := range s.fails {
		if number <= len(s.names) && (number < 2 || s.names[number-2] != "Malloc" || s.names[number-1] != "CaptureStatus") {
			names = append(names, s.names[number-1])
		}
	}
	return names
}

func (s *steps) do(call func() error, name string, args ...any) error {
	if err := s.step(name, args...); err != nil {
		return err
	}
	return call()
}

func get[T any](s *steps, call func() (T, error), name string, args ...any) (result T, err error) {
	if err := s.step(name, args...); err != nil {
		return result, err
	}
	return call()
}

// steppedGPU is a device whose calls are written down.
type steppedGPU struct {
	*fakegpu.GPU
	*steps
}

func (g steppedGPU) SynchronizeDevice(dev spec.Device) error {
	return g.do(func() error { return g.GPU.SynchronizeDevice(dev) }, "SynchronizeDevice", dev)
}

func (g steppedGPU) CreateEvent(dev spec.Device) (spec.EventHandle, error) {
	return get(g.steps, func() (spec.EventHandle, error) { return g.GPU.CreateEvent(dev) }, "CreateEvent", dev)
}

func (g steppedGPU) RecordEvent(ev spec.EventHandle, dev spec.Device, stream spec.Stream) error {
	return g.do(func() error { return g.GPU.RecordEvent(ev, dev, stream) }, "RecordEvent", ev, dev, stream)
}

func (g steppedGPU) WaitEvent(dev spec.Device, stream spec.Stream, ev spec.EventHandle) error {
	return g.do(func() error { return g.GPU.WaitEvent(dev, stream, ev) }, "WaitEvent", dev, stream, ev)
}

func (g steppedGPU) DestroyEvent(ev spec.EventHandle) error {
	return g.do(func() error { return g.GPU.DestroyEvent(ev) }, "DestroyEvent", ev)
}

func (g steppedGPU) BeginCapture(dev spec.Device, stream spec.Stream, mode spec.CaptureMode) error {
	return g.do(func() error { return g.GPU.BeginCapture(dev, stream, mode) }, "BeginCapture", dev, stream, mode)
}

func (g steppedGPU) CaptureStatus(dev spec.Device, stream spec.Stream) (spec.CaptureInfo, error) {
	return get(g.steps, func() (spec.CaptureInfo, error) { return g.GPU.CaptureStatus(dev, stream) }, "CaptureStatus", dev, stream)
}

func (g steppedGPU) EndCapture(dev spec.Device, stream spec.Stream) (spec.Graph, error) {
	return get(g.steps, func() (spec.Graph, error) { return g.GPU.EndCapture(dev, stream) }, "EndCapture", dev, stream)
}

func (g steppedGPU) Instantiate(graph spec.Graph) (spec.GraphExec, error) {
	return get(g.steps, func() (spec.GraphExec, error) { return g.GPU.Instantiate(graph) }, "Instantiate", graph)
}

func (g steppedGPU) LaunchGraph(exec spec.GraphExec, dev spec.Device, stream spec.Stream) error {
	return g.do(func() error { return g.GPU.LaunchGraph(exec, dev, stream) }, "LaunchGraph", exec, dev, stream)
}

func (g steppedGPU) DestroyGraph(graph spec.Graph) error {
	return g.do(func() error { return g.GPU.DestroyGraph(graph) }, "DestroyGraph", graph)
}

func (g steppedGPU) DestroyGraphExec(exec spec.GraphExec) error {
	return g.do(func() error { return g.GPU.DestroyGraphExec(exec) }, "DestroyGraphExec", exec)
}

func (g steppedGPU) Copy(c spec.Copy) error {
	return g.do(func() error { return g.GPU.Copy(c) }, "Copy", c)
}

func (g steppedGPU) Launch(l spec.Launch) error {
	return g.do(func() error { return g.GPU.Launch(l) }, "Launch", l)
}

// steppedAllocator is an allocator whose calls are written down.
type steppedAllocator struct {
	graphtree.Allocator
	*steps
}

// For is the same allocator as another caller uses it.
func (a steppedAllocator) For(c spec.Caller) spec.Allocator {
	fmt.Fprintln(&a.log, "For", c.Current)
	return steppedAllocator{a.Allocator.(spec.CallerAware).For(c).(graphtree.Allocator), a.steps}
}

func (a steppedAllocator) MarkCaptureBegin(dev spec.Device) error {
	return a.do(func() error { return a.Allocator.(spec.CaptureMarker).MarkCaptureBegin(dev) }, "MarkCaptureBegin", dev)
}

func (a steppedAllocator) MarkCaptureEnd(dev spec.Device) error {
	return a.do(func() error { return a.Allocator.(spec.CaptureMarker).MarkCaptureEnd(dev) }, "MarkCaptureEnd", dev)
}

func (a steppedAllocator) Malloc(r spec.Request) (spec.Ptr, error) {
	return get(a.steps, func() (spec.Ptr, error) { return a.Allocator.Malloc(r) }, "Malloc", r)
}

func (a steppedAllocator) Free(p spec.Ptr) error {
	return a.do(func() error { return a.Allocator.Free(p) }, "Free", p)
}

func (a steppedAllocator) EmptyCache() error {
	return a.do(func() error { return a.Allocator.EmptyCache() }, "EmptyCache")
}

func (a steppedAllocator) EmptyPool(id spec.PoolID) error {
	return a.do(func() error { return a.Allocator.EmptyPool(id) }, "EmptyPool", id)
}

func (a steppedAllocator) BeginAllocateToPool(dev spec.Device, id spec.PoolID, filter spec.RequestFilter) error {
	return a.do(func() error { return a.Allocator.BeginAllocateToPool(dev, id, filter) }, "BeginAllocateToPool", dev, id)
}

func (a steppedAllocator) EndAllocateToPool(dev spec.Device, id spec.PoolID) error {
	return a.do(func() error { return a.Allocator.EndAllocateToPool(dev, id) }, "EndAllocateToPool", dev, id)
}

func (a steppedAllocator) ReleasePool(dev spec.Device, id spec.PoolID) error {
	return a.do(func() error { return a.Allocator.ReleasePool(dev, id) }, "ReleasePool", dev, id)
}

func (a steppedAllocator) Checkpoint(dev spec.Device, id spec.PoolID) (spec.PoolState, error) {
	return get(a.steps, func() (spec.PoolState, error) { return a.Allocator.Checkpoint(dev, id) }, "Checkpoint", dev, id)
}

func (a steppedAllocator) Restore(dev spec.Device, state spec.PoolState) (spec.RestoreDelta, error) {
	return get(a.steps, func() (spec.RestoreDelta, error) { return a.Allocator.Restore(dev, state) }, "Restore", dev)
}
