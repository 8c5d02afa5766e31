package fakegpu_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// heap is host memory without addresses of its own.
type heap struct {
	bytes, limit uint64
	mapped       map[spec.Ptr]*byte
	refuses      bool // to map anything
}

func (h *heap) Obtain(bytes uint64) ([]byte, error) {
	if h.bytes+bytes > h.limit {
		return nil, errors.New("the host is full")
	}
	h.bytes += bytes
	return make([]byte, bytes), nil
}

func (h *heap) Drop(memory []byte) { h.bytes -= uint64(len(memory)) }

func (h *heap) Map(at spec.Ptr, memory []byte) error {
	if h.refuses {
		return errors.New("the host has something there")
	}
	h.mapped[at] = &memory[0]
	return nil
}

func (h *heap) Unmap(at spec.Ptr, _ uint64) { delete(h.mapped, at) }

// TestHostMemory: memory of the host holds what runs would hold, whatever work is done, under
// each schedule.
func TestHostMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		scheduled := rapid.Bool().Draw(t, "scheduled")
		host := &heap{limit: spec.GiB, mapped: map[spec.Ptr]*byte{}}
		both := make([]*bytesMachine, 2)
		for i := range both {
			var c fakegpu.Config
			if scheduled {
				c.Schedule = fakegpu.Random(seed)
			}
			if i == 1 {
				c.HostMemory = host
			}
			both[i] = newBytesMachine(t, fakegpu.New(c))
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			step := drawBytesStep(t)
			for _, m := range both {
				step(m)
			}
		}
		runs, inHost := both[0].content(), both[1].content()
		if !bytes.Equal(runs, inHost) {
			t.Fatalf("the host holds %x, not %x", inHost, runs)
		}
		both[1].gpu.Exit()
		if host.bytes != 0 || len(host.mapped) != 0 {
			t.Fatalf("%d bytes are left, and %d addresses", host.bytes, len(host.mapped))
		}
	})
}

// bytesMachine is a GPU with a range of two pages, each of 2 MiB, and a piece.
type bytesMachine struct {
	t       *rapid.T
	gpu     *fakegpu.GPU
	pages   spec.Ptr
	piece   spec.Ptr
	streams [2]spec.Stream
}

const (
	bytesPage = 2 * spec.MiB
	// Work is near the border of the pages, and at the piece's beginning.
	nearBorder = bytesPage - 20
	someBytes  = 40
)

func newBytesMachine(t *rapid.T, g *fakegpu.GPU) *bytesMachine {
	m := &bytesMachine{t: t, gpu: g}
	var err error
	m.pages, err = g.ReserveAddress(0, 2*bytesPage)
	m.must(err)
	for i := range uint64(2) {
		page, err := g.CreatePage(0, bytesPage, spec.SharePOSIX)
		m.must(err)
		m.must(g.MapPage(m.pages+spec.Ptr(i*bytesPage), bytesPage, page))
	}
	m.must(g.SetAccess(m.pages, 2*bytesPage, 0))
	m.piece, err = g.Malloc(0, 4096)
	m.must(err)
	for i := range m.streams {
		m.streams[i], err = g.CreateStream(0)
		m.must(err)
	}
	for _, r := range m.ranges() { // what was never written differs
		m.must(g.Fill(0, 0, r, 1))
	}
	m.must(g.SynchronizeDevice(0))
	return m
}

func (m *bytesMachine) must(err error) {
	if err != nil {
		m.t.Helper()
		m.t.Fatal(err)
	}
}

func (m *bytesMachine) ranges() [2]spec.Range {
	return [2]spec.Range{{Ptr: m.pages + spec.Ptr(nearBorder), Bytes: someBytes}, {Ptr: m.piece, Bytes: someBytes}}
}

func (m *bytesMachine) content() (all []byte) {
	m.must(m.gpu.SynchronizeDevice(0))
	for _, r := range m.ranges() {
		data, err := m.gpu.ReadBack(0, 0, r)
		m.must(err)
		all = append(all, data...)
	}
	return all
}

// drawBytesStep draws a piece of work.
func drawBytesStep(t *rapid.T) func(*bytesMachine) {
	kind := rapid.SampledFrom([]string{"fill", "copy", "kernel", "in", "out", "sync"}).Draw(t, "kind")
	stream := rapid.IntRange(0, 1).Draw(t, "stream")
	to, from := rapid.IntRange(0, 1).Draw(t, "to"), rapid.IntRange(0, 1).Draw(t, "from")
	size := rapid.Uint64Range(1, 24).Draw(t, "bytes")
	toOffset := rapid.Uint64Range(0, someBytes-size).Draw(t, "offset")
	fromOffset := rapid.Uint64Range(0, someBytes-size).Draw(t, "offset")
	value := rapid.Byte().Draw(t, "value")
	data := rapid.SliceOfN(rapid.Byte(), int(size), int(size)).Draw(t, "data")
	return func(m *bytesMachine) {
		s, ranges := m.streams[stream], m.ranges()
		target := spec.Range{Ptr: ranges[to].Ptr + spec.Ptr(toOffset), Bytes: size}
		source := spec.Range{Ptr: ranges[from].Ptr + spec.Ptr(fromOffset), Bytes: size}
		switch kind {
		case "fill":
			m.must(m.gpu.Fill(0, s, target, value))
		case "copy":
			m.must(m.gpu.Copy(spec.Copy{Stream: s, Dst: target.Ptr, Src: source.Ptr, Bytes: size}))
		case "kernel": // what it has read is not in what it writes: digests of the two differ
			m.must(m.gpu.Launch(spec.Launch{Stream: s, Name: "k", Writes: []spec.Range{target}}))
		case "in":
			m.must(m.gpu.CopyIn(0, s, target.Ptr, data))
		case "out":
			m.must(m.gpu.CopyOut(0, s, source, func([]byte) {}))
		case "sync":
			m.must(m.gpu.SynchronizeStream(0, s))
		}
	}
}

// TestHostAddresses: the host finds the first process's memory at its addresses, as long as it is
// there, and no other process's.
func TestHostAddresses(t *testing.T) {
	host := &heap{limit: spec.GiB, mapped: map[spec.Ptr]*byte{}}
	machine := fakegpu.NewMachine(fakegpu.Config{HostMemory: host})
	first, second := machine.NewProcess(), machine.NewProcess()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when string, addresses ...spec.Ptr) {
		t.Helper()
		for _, p := range addresses {
			if host.mapped[p] == nil {
				t.Errorf("%s the host does not find what is at %v", when, p)
			}
		}
		if len(host.mapped) != len(addresses) {
			t.Errorf("%s the host finds memory at %d addresses, not %d", when, len(host.mapped), len(addresses))
		}
	}
	p, err := first.Malloc(0, 4096)
	must(err)
	expect("after Malloc", p)
	r, err := first.ReserveAddress(0, 2*bytesPage)
	must(err)
	page, err := first.CreatePage(0, bytesPage, spec.SharePOSIX)
	must(err)
	expect("before a page is mapped", p)
	twice := r + spec.Ptr(bytesPage)
	must(errors.Join(first.MapPage(r, bytesPage, page), first.MapPage(twice, bytesPage, page)))
	expect("with a page at two addresses", p, r, twice)
	if host.mapped[r] != host.mapped[twice] {
		t.Error("the page is in two places of the host")
	}

	other, err := second.Malloc(0, 4096)
	must(err)
	handle, err := second.ShareMemory(0, other)
	must(err)
	opened, err := first.OpenMemory(0, handle)
	must(err)
	expect("with another process's memory open", p, r, twice, opened)
	handle, err = first.ShareMemory(0, p)
	must(err)
	_, err = second.OpenMemory(0, handle)
	must(err)
	expect("when the other process opens memory", p, r, twice, opened)

	must(errors.Join(first.CloseMemory(0, opened), first.UnmapPage(r, bytesPage)))
	expect("after half of it has gone", p, twice)
	host.refuses = true
	before := host.bytes
	if _, err := first.Malloc(0, 4096); !errors.Is(err, spec.ErrDriverOutOfMemory) {
		t.Errorf("Malloc where the host maps nothing: %v", err)
	}
	if err := first.MapPage(r, bytesPage, page); err == nil {
		t.Error("a page is mapped where the host maps nothing")
	}
	if host.bytes != before {
		t.Errorf("%d bytes of the host are taken, %d were before", host.bytes, before)
	}
	_, err = second.Malloc(0, 4096)
	must(err)
	must(first.ReleasePage(page)) // the mapping is all that is left of it
	first.Exit()
	expect("after the process has ended")
}

// TestHostIsFull: the device has no more memory than the host.
func TestHostIsFull(t *testing.T) {
	host := &heap{limit: 4 * spec.MiB, mapped: map[spec.Ptr]*byte{}}
	g := fakegpu.New(fakegpu.Config{HostMemory: host})
	if _, err := g.Malloc(0, 8*spec.MiB); !errors.Is(err, spec.ErrDriverOutOfMemory) {
		t.Errorf("Malloc: %v", err)
	}
	if _, err := g.CreatePage(0, 8*spec.MiB, spec.SharePOSIX); !errors.Is(err, spec.ErrDriverOutOfMemory) {
		t.Errorf("CreatePage: %v", err)
	}
	if free, total, err := g.MemInfo(0); err != nil || free != total {
		t.Errorf("%d bytes of %d are free, %v", free, total, err)
	}
	if leaks := g.Leaks(); len(leaks) > 0 {
		t.Errorf("left: %v", leaks)
	}
	place := func(g *fakegpu.GPU) spec.Ptr {
		p, err := g.Malloc(0, 2*spec.MiB)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	g = fakegpu.New(fakegpu.Config{HostMemory: host, Addresses: fakegpu.RealLike})
	if _, err := g.Malloc(0, 2*spec.GiB); err == nil {
		t.Fatal("the host has 4 MiB")
	}
	if got, want := place(g), place(fakegpu.New(fakegpu.Config{Addresses: fakegpu.RealLike})); got != want {
		t.Errorf("the addresses of what was refused stay in use: the first piece is at %v, not %v", got, want)
	}
}
