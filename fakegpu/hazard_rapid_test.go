package fakegpu_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestDetectorAgainstReference runs programs at random, under random schedules, and
// compares what the detector says after each step with the definition
// (hazard_reference_test.go). The detector may forget; so of the pairs that one
// piece of work makes with earlier ones it need not tell all. But what it tells must
// be true, and no piece of work that is in a pair may go unnoticed.
func TestDetectorAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newHazardModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"":          m.check,
			"give":      m.give,
			"take":      m.take,
			"reuse":     m.reuse,
			"reuse 2":   m.reuse,
			"launch":    m.launch,
			"launch 2":  m.launch,
			"launch 3":  m.launch,
			"launch 4":  m.launch,
			"busy":      m.busy,
			"ask":       m.ask,
			"record":    m.record,
			"wait":      m.wait,
			"query":     m.query,
			"sync":      m.sync,
			"device":    m.syncDevice,
			"event":     m.syncEvent,
			"destroy":   m.destroy,
			"thread":    m.thread,
			"tell":      m.tell,
			"remap":     m.remap,
			"capture":   m.capture,
			"graph":     m.launchGraph,
			"graph 2":   m.launchGraph,
			"read back": m.readBack,
		})
	})
}

// The memory is a few pages of one word, the cells. The first ones are allocated
// outside of captures, the others in captures, so that graphs keep their memory.
const (
	cellBytes                   = 64
	plainCells, cells           = 3, 5
	hazardStreams, hazardEvents = 4, 3
	manyStreams                 = 20
)

type hazardModel struct {
	gpu       *fakegpu.GPU
	ref       *orderReference
	base      spec.Ptr
	pages     []spec.PageHandle
	streams   []spec.Stream // by number; numbers of streams that are gone are not used again
	events    []spec.EventHandle
	lifetimes []refLife // that have not ended
	all       map[uint64]refLife
	graphs    []refGraph
	joined    map[int][]int // the streams in the capture under way, if there is one
	names     int

	// Of the present step.
	told    int      // hazards told before
	pairs   []string // that the reference finds
	outlive int      // accesses by graphs to what is no longer theirs
}

// refLife is a lifetime of some cells, in the pool that they are in.
type refLife struct {
	number      uint64
	first, last int
	pool        uint64
	captured    bool
}

// refGraph is a graph, with an executable one.
type refGraph struct {
	exec  spec.GraphExec
	nodes []refNode
	last  int // vertex of the end of the latest launch, -1 if there is none
}

// refNode is a node; behind are numbers of nodes.
type refNode struct {
	name     string
	behind   []int
	accesses []refAccess
}

func newHazardModel(t *rapid.T) *hazardModel {
	config := fakegpu.Config{PageGranularity: cellBytes, Hazards: true, Waits: fakegpu.WaitsDrain}
	if seed := rapid.Uint64Range(0, 5).Draw(t, "schedule"); seed > 0 {
		config.Schedule = fakegpu.Random(seed)
	}
	m := &hazardModel{gpu: fakegpu.New(config), ref: newOrderReference(), streams: []spec.Stream{0}, all: map[uint64]refLife{}}
	var err error
	m.base, err = m.gpu.ReserveAddress(0, cells*cellBytes)
	m.must(t, err)
	for cell := range cells {
		page, err := m.gpu.CreatePage(0, cellBytes, spec.SharePOSIX)
		m.must(t, err)
		m.pages = append(m.pages, page)
		m.must(t, m.mapCell(cell))
	}
	// With many streams the detector does not look at each access every time.
	for range rapid.SampledFrom([]int{hazardStreams, hazardStreams, manyStreams}).Draw(t, "streams") - 1 {
		s, err := m.gpu.CreateStream(0)
		m.must(t, err)
		m.streams = append(m.streams, s)
	}
	for range hazardEvents {
		e, err := m.gpu.CreateEvent(0)
		m.must(t, err)
		m.events = append(m.events, e)
	}
	// An allocator manages the memory.
	m.gpu.BeginLifetime(fakegpu.Lifetime{Range: m.memory(0, 0)})
	m.gpu.EndLifetime(m.base)
	return m
}

func (m *hazardModel) must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// memory is the range of some cells.
func (m *hazardModel) memory(first, last int) spec.Range {
	return spec.Range{Ptr: m.base + spec.Ptr(first*cellBytes), Bytes: uint64(last-first+1) * cellBytes}
}

func (m *hazardModel) mapCell(cell int) error {
	r := m.memory(cell, cell)
	return errors.Join(m.gpu.MapPage(r.Ptr, r.Bytes, m.pages[cell]), m.gpu.SetAccess(r.Ptr, r.Bytes, 0))
}

// check compares what the step has brought.
func (m *hazardModel) check(t *rapid.T) {
	all := m.gpu.Hazards()
	noticed := map[string]bool{}
	for _, h := range all[m.told:] {
		switch h.Kind {
		case fakegpu.Outlived:
			m.outlive--
			continue
		case fakegpu.Unordered, fakegpu.Returned:
		default:
			t.Fatalf("unexpected: %v", h)
		}
		second := ""
		if h.Second != nil {
			second = whoName(h.Second.Work, h.Second.Name)
		}
		if !slices.Contains(m.pairs, pairName(whoName(h.First.Work, h.First.Name), second)) {
			t.Fatalf("told, but not so: %v\nthe reference has %q", h, m.pairs)
		}
		noticed[second] = true
	}
	for _, pair := range m.pairs {
		if _, second, _ := strings.Cut(pair, " | "); !noticed[second] {
			t.Fatalf("not told: %s", pair)
		}
	}
	if m.outlive != 0 {
		t.Fatalf("accesses to what a graph has outlived: %d not told", m.outlive)
	}
	if len(all) > 900 {
		t.Skip("the list of hazards is nearly full")
	}
	m.told, m.pairs = len(all), nil
}

func (m *hazardModel) stream(t *rapid.T) int {
	var there []int
	for i, s := range m.streams {
		if i == 0 || s != 0 {
			there = append(there, i)
		}
	}
	return rapid.SampledFrom(there).Draw(t, "stream")
}

func (m *hazardModel) event(t *rapid.T) int {
	return rapid.IntRange(0, hazardEvents-1).Draw(t, "event")
}

// give begins a lifetime of free cells of the first ones.
func (m *hazardModel) give(t *rapid.T) {
	m.giveCells(t, m.stream(t), 0, plainCells)
}

func (m *hazardModel) giveCells(t *rapid.T, stream, from, end int) {
	first := rapid.IntRange(from, end-1).Draw(t, "first")
	last := min(first+rapid.IntRange(0, 2).Draw(t, "more"), end-1)
	for _, l := range m.lifetimes {
		if first <= l.last && l.first <= last {
			return
		}
	}
	m.begin(stream, first, last)
}

// begin begins a lifetime. It is captured if the stream is, and, in the graphs' pool, in
// any case: outside of a capture that is a pool that was set back.
func (m *hazardModel) begin(stream, first, last int) {
	_, joined := m.joined[stream]
	l := refLife{first: first, last: last, captured: joined || first >= plainCells}
	if first >= plainCells {
		l.pool = 1
	}
	l.number = m.gpu.BeginLifetime(fakegpu.Lifetime{
		Range: m.memory(first, last), Stream: m.streams[stream],
		Pool: spec.PoolID{Capture: l.pool}, Captured: l.captured && m.joined == nil,
	})
	m.lifetimes = append(m.lifetimes, l)
	m.all[l.number] = l
}

// reuse gives memory to another owner at once.
func (m *hazardModel) reuse(t *rapid.T) {
	if len(m.lifetimes) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.lifetimes)-1).Draw(t, "lifetime")
	l := m.lifetimes[i]
	m.end(i)
	m.begin(m.stream(t), l.first, l.last)
}

func (m *hazardModel) take(t *rapid.T) {
	if len(m.lifetimes) == 0 {
		return
	}
	m.end(rapid.IntRange(0, len(m.lifetimes)-1).Draw(t, "lifetime"))
}

func (m *hazardModel) end(lifetime int) {
	m.gpu.EndLifetime(m.memory(m.lifetimes[lifetime].first, 0).Ptr)
	m.lifetimes = slices.Delete(m.lifetimes, lifetime, lifetime+1)
}

// work draws a kernel that touches what is allocated.
func (m *hazardModel) work(t *rapid.T, stream int) (spec.Launch, []refAccess) {
	m.names++
	l := spec.Launch{Stream: m.streams[stream], Name: fmt.Sprintf("k%d", m.names)}
	var touched []refAccess
	for part := range rapid.IntRange(1, 2).Draw(t, "ranges") {
		lifetime := rapid.SampledFrom(m.lifetimes).Draw(t, "lifetime")
		first := rapid.IntRange(lifetime.first, lifetime.last).Draw(t, "first")
		last := rapid.IntRange(first, lifetime.last).Draw(t, "last")
		write := rapid.Bool().Draw(t, "write")
		if write {
			l.Writes = append(l.Writes, m.memory(first, last))
		} else {
			l.Reads = append(l.Reads, m.memory(first, last))
		}
		for cell := first; cell <= last; cell++ {
			touched = append(touched, refAccess{cell: cell, write: write, lifetime: lifetime.number, part: part})
		}
	}
	return l, touched
}

// accessed tells the reference of accesses by a piece of work.
func (m *hazardModel) accessed(vertex int, who string, touched []refAccess) {
	touched = slices.Clone(touched)
	for i := range touched {
		touched[i].vertex, touched[i].who = vertex, who
	}
	m.pairs = append(m.pairs, m.ref.access(touched...)...)
}

func (m *hazardModel) launch(t *rapid.T) {
	if len(m.lifetimes) == 0 {
		return
	}
	stream := m.stream(t)
	l, touched := m.work(t, stream)
	m.must(t, m.gpu.Launch(l))
	m.ref.works++
	m.accessed(m.ref.submit(stream), whoName(m.ref.works, l.Name), touched)
}

func (m *hazardModel) readBack(t *rapid.T) {
	if len(m.lifetimes) == 0 {
		return
	}
	stream, lifetime := m.stream(t), rapid.SampledFrom(m.lifetimes).Draw(t, "lifetime")
	_, err := m.gpu.ReadBack(0, m.streams[stream], m.memory(lifetime.first, lifetime.first))
	m.must(t, err)
	m.accessed(m.ref.submit(stream), whoName(0, ""), []refAccess{{cell: lifetime.first, lifetime: lifetime.number}})
	m.ref.see(m.ref.streams, stream)
}

func (m *hazardModel) record(t *rapid.T) {
	e, s := m.event(t), m.stream(t)
	m.must(t, m.gpu.RecordEvent(m.events[e], 0, m.streams[s]))
	m.ref.record(e, s)
}

func (m *hazardModel) wait(t *rapid.T) {
	e, s := m.event(t), m.stream(t)
	m.must(t, m.gpu.WaitEvent(0, m.streams[s], m.events[e]))
	m.ref.wait(s, e)
}

// busy makes the later work of a stream wait until the host waits for it.
func (m *hazardModel) busy(t *rapid.T) { m.must(t, m.gpu.Busy(0, m.streams[m.stream(t)])) }

// ask records an event and asks whether it is complete.
func (m *hazardModel) ask(t *rapid.T) {
	e, s := m.event(t), m.stream(t)
	m.must(t, m.gpu.RecordEvent(m.events[e], 0, m.streams[s]))
	m.ref.record(e, s)
	m.queryEvent(t, e)
}

func (m *hazardModel) query(t *rapid.T) { m.queryEvent(t, m.event(t)) }

func (m *hazardModel) queryEvent(t *rapid.T, e int) {
	complete, err := m.gpu.QueryEvent(m.events[e])
	m.must(t, err)
	if complete {
		m.ref.see(m.ref.events, e)
	}
}

func (m *hazardModel) syncEvent(t *rapid.T) {
	e := m.event(t)
	m.must(t, m.gpu.SynchronizeEvent(m.events[e]))
	m.ref.see(m.ref.events, e)
}

func (m *hazardModel) sync(t *rapid.T) {
	s := m.stream(t)
	m.must(t, m.gpu.SynchronizeStream(0, m.streams[s]))
	m.ref.see(m.ref.streams, s)
}

func (m *hazardModel) syncDevice(t *rapid.T) {
	m.must(t, m.gpu.SynchronizeDevice(0))
	for s := range m.streams {
		m.ref.see(m.ref.streams, s)
	}
}

// destroy replaces a stream by a new one.
func (m *hazardModel) destroy(t *rapid.T) {
	i := m.stream(t)
	if i == 0 {
		return
	}
	m.must(t, m.gpu.DestroyStream(0, m.streams[i]))
	s, err := m.gpu.CreateStream(0)
	m.must(t, err)
	m.streams[i] = 0
	m.streams = append(m.streams, s)
}

func (m *hazardModel) thread(t *rapid.T) {
	next := rapid.IntRange(0, 2).Draw(t, "thread")
	m.gpu.SetThread(spec.Thread(next))
	if _, known := m.ref.knows[next]; !known && next != 0 {
		m.ref.knows[next] = slices.Clone(m.ref.knows[m.ref.thread])
	}
	m.ref.thread = next
}

func (m *hazardModel) tell(t *rapid.T) {
	other := rapid.IntRange(0, 2).Draw(t, "thread")
	if _, known := m.ref.knows[other]; !known {
		return
	}
	m.gpu.OrderThreads(spec.Thread(m.ref.thread), spec.Thread(other))
	m.ref.knows[other] = append(m.ref.knows[other], m.ref.knows[m.ref.thread]...)
}

// remap takes a cell's memory away and puts it back.
func (m *hazardModel) remap(t *rapid.T) {
	cell := rapid.IntRange(0, cells-1).Draw(t, "cell")
	r := m.memory(cell, cell)
	m.must(t, m.gpu.UnmapPage(r.Ptr, r.Bytes))
	m.must(t, m.mapCell(cell))
	m.pairs = append(m.pairs, m.ref.takeAway(cell)...)
}
