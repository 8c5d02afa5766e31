package fakegpu

import (
	"errors"
	"slices"
	"testing"

	"gaugeblock/spec"
)

// TestMemoryOfCaptures: a capture frees what it has requested, once, and nothing else.
func TestMemoryOfCaptures(t *testing.T) {
	g := New(Config{Devices: Devices(1, spec.GiB)})
	s, err := g.CreateStream(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.BeginCapture(0, s, spec.CaptureRelaxed); err != nil {
		t.Fatal(err)
	}
	other, err := g.Malloc(0, spec.MiB)
	if err != nil {
		t.Fatal(err)
	}
	var requested []spec.Ptr
	for range 3 {
		p, err := g.MallocInCapture(0, s, spec.MiB)
		if err != nil || slices.Contains(requested, p) {
			t.Fatalf("%v after %v: %v", p, requested, err)
		}
		requested = append(requested, p)
	}
	for _, step := range []struct {
		ptr     spec.Ptr
		refused bool
	}{
		{requested[1], false}, {requested[1], true}, {other, true}, {requested[2], false}, {requested[0], false}, {requested[0], true},
	} {
		if err := g.FreeInCapture(0, s, step.ptr); (err != nil) != step.refused {
			t.Errorf("freeing %v: %v", step.ptr, err)
		}
	}
}

// TestSharedEvents: an event of another process is complete when it is in its own, is not
// shared any further, and a stream that waits for it waits for the other process's work.
func TestSharedEvents(t *testing.T) {
	m := NewMachine(Config{Devices: Devices(1, spec.GiB)})
	a, b := m.NewProcess(), m.NewProcess()
	stream := func(g *GPU) spec.Stream {
		s, err := g.CreateStream(0)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sa, sb := stream(a), stream(b)
	own, err := a.CreateEvent(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Busy(0, sa), a.RecordEvent(own, 0, sa)); err != nil {
		t.Fatal(err)
	}
	handle, err := a.ShareEvent(own)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.OpenEvent(handle); err == nil {
		t.Error("a process opened its own event")
	}
	opened, err := b.OpenEvent(handle)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.ShareEvent(opened); err == nil {
		t.Error("an opened event was shared")
	}
	if _, err := a.ShareEvent(own); err != nil {
		t.Errorf("sharing it again: %v", err)
	}
	if err := b.WaitEvent(0, sb, opened); err != nil {
		t.Fatal(err)
	}
	if complete, err := b.QueryEvent(opened); complete || err != nil || b.Idle(0, sb) {
		t.Errorf("the other process's work is underway: event complete %v (%v), stream idle %v", complete, err, b.Idle(0, sb))
	}
	if !a.OpenGate(0, sa) {
		t.Fatal("no gate")
	}
	if complete, err := b.QueryEvent(opened); !complete || err != nil || !b.Idle(0, sb) {
		t.Errorf("the other process's work is over: event complete %v (%v), stream idle %v", complete, err, b.Idle(0, sb))
	}
	broken := slices.Clone(handle)
	broken[0]++
	if _, err := b.OpenEvent(broken); err == nil {
		t.Error("a handle that is none was opened")
	}
}

// TestMemoryCallsAreTold: a listener is told each call, also a refused one.
func TestMemoryCallsAreTold(t *testing.T) {
	g := New(Config{Devices: Devices(1, 8*spec.MiB)})
	var told []MemoryCall
	g.OnMemoryCall(func(c MemoryCall) {
		if (c.Err != nil) != (len(told) == 1 || len(told) == 3) {
			t.Errorf("%s: %v", c.Call, c.Err)
		}
		c.Err = nil
		told = append(told, c)
	})
	p, err := g.Malloc(0, 4*spec.MiB)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Malloc(0, 8*spec.MiB); err == nil {
		t.Fatal("more than there is")
	}
	if err := g.Free(0, p); err != nil {
		t.Fatal(err)
	}
	if err := g.Free(0, p); err == nil {
		t.Fatal("freed twice")
	}
	r, err := g.ReserveAddress(0, 4*spec.MiB)
	if err != nil {
		t.Fatal(err)
	}
	page, err := g.CreatePage(0, 2*spec.MiB, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(g.MapPage(r, 2*spec.MiB, page), g.UnmapPage(r, 2*spec.MiB), g.ReleasePage(page), g.FreeAddress(r, 4*spec.MiB)); err != nil {
		t.Fatal(err)
	}
	want := []MemoryCall{
		{Call: "Malloc", Ptr: p, Bytes: 4 * spec.MiB},
		{Call: "Malloc", Bytes: 8 * spec.MiB},
		{Call: "Free", Ptr: p},
		{Call: "Free", Ptr: p},
		{Call: "ReserveAddress", Ptr: r, Bytes: 4 * spec.MiB},
		{Call: "CreatePage", Bytes: 2 * spec.MiB},
		{Call: "MapPage", Ptr: r, Bytes: 2 * spec.MiB},
		{Call: "UnmapPage", Ptr: r, Bytes: 2 * spec.MiB},
		{Call: "FreeAddress", Ptr: r, Bytes: 4 * spec.MiB},
	}
	if !slices.Equal(told, want) {
		t.Errorf("told\n%v\nwant\n%v", told, want)
	}
}

// samePlace is an address policy that has one place only. It keeps the addresses that are vacated.
type samePlace struct{ vacated []spec.Ptr }

func (*samePlace) Place(uint64) spec.Ptr               { return 0x10000000 }
func (p *samePlace) Vacate(at spec.Ptr, _ uint64)      { p.vacated = append(p.vacated, at) }
func (*samePlace) PlaceRange(uint64) spec.Ptr          { return 0x10000000 }
func (p *samePlace) VacateRange(at spec.Ptr, _ uint64) { p.vacated = append(p.vacated, at) }

// TestPlacesInUse: where an address policy chooses addresses that are in use, the call fails, and
// what is there stays.
func TestPlacesInUse(t *testing.T) {
	policy := &samePlace{}
	g := New(Config{Addresses: func(spec.Device) AddressPolicy { return policy }})
	p, err := g.Malloc(0, spec.MiB)
	if err != nil {
		t.Fatal(err)
	}
	free, _, _ := g.MemInfo(0)
	if _, err := g.Malloc(0, 512); err == nil || errors.Is(err, spec.ErrDriverOutOfMemory) {
		t.Errorf("another piece at the same address: %v", err)
	}
	if _, err := g.ReserveAddress(0, 2*spec.MiB); err == nil || errors.Is(err, spec.ErrDriverOutOfMemory) {
		t.Errorf("a range at the same address: %v", err)
	}
	if !slices.Equal(policy.vacated, []spec.Ptr{p, p}) {
		t.Errorf("the policy was told that %v are free again, want what it chose for the two", policy.vacated)
	}
	if now, _, _ := g.MemInfo(0); now != free {
		t.Errorf("%d bytes are free, %d were before", now, free)
	}
	if err := g.Fill(0, 0, spec.Range{Ptr: p, Bytes: spec.MiB}, 1); err != nil {
		t.Errorf("the first piece: %v", err)
	}
	if err := g.Free(0, p); err != nil {
		t.Errorf("freeing it: %v", err)
	}
	if _, err := g.Malloc(0, 512); err != nil {
		t.Errorf("when the address is free again: %v", err)
	}
}

// TestExitEndsWork: what a process that ends has given to its streams is over.
func TestExitEndsWork(t *testing.T) {
	g := New(Config{})
	s := newStream(t, g)
	must(t, g.Busy(0, s))
	handle, err := g.CreateEvent(0)
	must(t, err)
	must(t, g.RecordEvent(handle, 0, s))
	e := g.events[handle]
	if e.mark.complete() {
		t.Fatal("the event is complete at once")
	}
	g.Exit()
	if !e.mark.complete() {
		t.Error("the event is not complete")
	}
}
