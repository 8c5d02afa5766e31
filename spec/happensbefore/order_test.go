package happensbefore_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// TestOrder holds the clocks to their definition: everything that a program does is a
// vertex of a graph, with an edge from each vertex that CUDA promises to be over before
// it, and one thing comes before another if there is a path. The graph forgets nothing
// and reuses nothing. Clocks are joined at once, or later.
func TestOrder(t *testing.T) {
	happensbefore.SmallPasts(t)
	rapid.Check(t, func(t *rapid.T) {
		p := newProgram()
		if p.later = rapid.Bool().Draw(t, "later"); p.later {
			p.order.JoinLater()
		}
		if p.strangers = rapid.Bool().Draw(t, "strangers"); p.strangers {
			p.order.ExpectStrangers()
		}
		t.Repeat(map[string]func(*rapid.T){
			"submit":  p.submit,
			"record":  p.record,
			"wait":    p.wait,
			"observe": p.observe,
			"thread":  p.switchThread,
			"destroy": p.destroy,
			"forget":  p.forget,
			"capture": p.endCapture,
			"block":   p.setBlocking,
			"legacy":  p.legacyWork,
			"host":    p.hostWork,
			"exit":    p.endThread,
			"":        p.check,
		})
	})
}

// program does the same to an Order and to the graph.
type program struct {
	order     *happensbefore.Order
	edges     [][]int // by vertex: what comes directly before it
	lanes     []*laneModel
	events    map[int]*eventModel
	seen      map[spec.Thread][]int // by thread: the vertices that it has seen complete
	works     []workModel
	later     bool                  // clocks are joined later
	strangers bool                  // threads come that have seen nothing
	legacy    map[spec.Device][]int // by device: what comes before its blocking lanes' next work
}

// laneModel is a lane, and the vertices that its next work comes after.
type laneModel struct {
	lane   *happensbefore.Lane
	stream spec.DeviceStream
	graph  bool
	blocks bool
	ends   []int
	gone   bool
}

type eventModel struct {
	clock happensbefore.Clock
	ends  []int
}

type workModel struct {
	vertex int
	epoch  happensbefore.Epoch
}

const devices, streams, threads, events = 2, 2, 3, 2

func newProgram() *program {
	return &program{order: happensbefore.New(), events: map[int]*eventModel{}, seen: map[spec.Thread][]int{0: nil}, legacy: map[spec.Device][]int{}}
}

// lane draws a stream's lane, or that of its captured nodes; it is made when it is
// first needed.
func (p *program) lane(t *rapid.T) *laneModel {
	s := spec.DeviceStream{
		Device: spec.Device(rapid.IntRange(0, devices-1).Draw(t, "device")),
		Stream: spec.Stream(rapid.IntRange(0, streams-1).Draw(t, "stream")),
	}
	graph := rapid.IntRange(0, 3).Draw(t, "graph") == 0
	for _, l := range p.lanes {
		if l.stream == s && l.graph == graph && !l.gone {
			return l
		}
	}
	l := &laneModel{stream: s, graph: graph}
	if graph {
		l.lane = p.order.NewGraphLane(s)
	} else {
		l.lane = p.order.NewLane(s)
	}
	p.lanes = append(p.lanes, l)
	return l
}

func (p *program) known() []int { return p.seen[p.order.Thread()] }

// touch is what every action on a lane does: what follows comes after what the thread
// has seen.
func (p *program) touch(l *laneModel) { l.ends = union(l.ends, p.known()) }

// union is the set of what is in any of the lists.
func union(lists ...[]int) []int {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

func (p *program) submit(t *rapid.T) {
	l := p.lane(t)
	p.touch(l)
	l.ends = []int{p.work(t, p.order.Submit(l.lane), l.ends)}
}

// work is a vertex that comes after others.
func (p *program) work(t *rapid.T, moment happensbefore.Moment, after []int) (vertex int) {
	vertex = len(p.edges)
	p.edges = append(p.edges, after)
	p.works = append(p.works, workModel{vertex, moment.Epoch})
	past := p.past([]int{vertex})
	for _, w := range p.works {
		if got := moment.Clock.Covers(w.epoch); got != past[w.vertex] {
			t.Fatalf("the clock of %v covers %v: %v", moment.Epoch, w.epoch, got)
		}
	}
	return vertex
}

// setBlocking makes a lane come after what its device has released to blocking lanes.
func (p *program) setBlocking(t *rapid.T) {
	l := p.lane(t)
	if l.graph {
		t.Skip("only streams that run are blocking")
	}
	p.order.SetBlocking(l.lane)
	l.blocks = true
	l.ends = union(l.ends, p.legacy[l.stream.Device])
}

// legacyWork is work of the legacy default stream, which any lane that does not block
// may be.
func (p *program) legacyWork(t *rapid.T) {
	l := p.lane(t)
	if l.graph || l.blocks {
		t.Skip("the legacy default stream is neither captured nor blocking")
	}
	p.touch(l)
	p.order.GatherBlocking(l.lane)
	l.ends = union(l.ends, p.legacy[l.stream.Device])
	for _, b := range p.lanes {
		if b.blocks && b.stream.Device == l.stream.Device {
			l.ends = union(l.ends, b.ends)
		}
	}
	l.ends = []int{p.work(t, p.order.Submit(l.lane), l.ends)}
	p.order.ReleaseBlocking(l.lane)
	p.legacy[l.stream.Device] = union(p.legacy[l.stream.Device], l.ends)
	for _, b := range p.lanes {
		if b.blocks && !b.gone && b.stream.Device == l.stream.Device {
			b.ends = union(b.ends, l.ends)
		}
	}
}

// hostWork is what a thread does itself.
func (p *program) hostWork(t *rapid.T) {
	vertex := p.work(t, p.order.SubmitHost(), p.known())
	p.seen[p.order.Thread()] = union(p.known(), []int{vertex})
}

func (p *program) endThread(t *rapid.T) {
	id := spec.Thread(rapid.IntRange(0, threads-1).Draw(t, "thread"))
	if id == p.order.Thread() {
		t.Skip("it goes on")
	}
	p.order.EndThread(id)
	delete(p.seen, id)
}

func (p *program) record(t *rapid.T) {
	l := p.lane(t)
	p.touch(l)
	e := p.events[rapid.IntRange(0, events-1).Draw(t, "event")]
	if e == nil {
		e = &eventModel{}
		p.events[len(p.events)] = e
	}
	p.order.Record(&e.clock, l.lane)
	e.ends = slices.Clone(l.ends)
}

func (p *program) wait(t *rapid.T) {
	l := p.lane(t)
	p.touch(l)
	if rapid.IntRange(0, 3).Draw(t, "device") == 0 {
		p.order.WaitDevice(l.lane)
		l.ends = union(l.ends, p.device(l.stream.Device))
		return
	}
	e := p.events[rapid.IntRange(0, events-1).Draw(t, "event")]
	if e == nil {
		e = &eventModel{}
	}
	p.order.Wait(l.lane, e.clock)
	l.ends = union(l.ends, e.ends)
}

// device lists the vertices at the ends of a device's lanes.
func (p *program) device(dev spec.Device) (ends []int) {
	for _, l := range p.lanes {
		if l.stream.Device == dev && !l.graph {
			ends = append(ends, l.ends...)
		}
	}
	return ends
}

// observe: the thread waits for a lane, a device, or one piece of work.
func (p *program) observe(t *rapid.T) {
	what := rapid.IntRange(0, 2).Draw(t, "what")
	ends := p.known()
	switch {
	case what == 0:
		l := p.lane(t)
		p.order.See(l.lane.Clock())
		ends = union(ends, l.ends)
	case what == 1:
		dev := spec.Device(rapid.IntRange(0, devices-1).Draw(t, "device"))
		p.order.SynchronizeDevice(dev)
		ends = union(ends, p.device(dev))
	case len(p.works) > 0:
		// Work is seen alone, with what its lane was given before, as nothing is known
		// here of what else it waited for.
		w := rapid.SampledFrom(p.works).Draw(t, "work")
		p.order.SeeWork(w.epoch)
		for _, earlier := range p.works {
			if earlier.epoch.Lane == w.epoch.Lane && earlier.epoch.Position <= w.epoch.Position {
				ends = union(ends, []int{alone(earlier.vertex)})
			}
		}
	}
	p.seen[p.order.Thread()] = ends
}

// alone stands for a vertex without what comes before it.
func alone(vertex int) int { return -1 - vertex }

func (p *program) switchThread(t *rapid.T) {
	id := spec.Thread(rapid.IntRange(0, threads-1).Draw(t, "thread"))
	_, there := p.seen[id]
	switch {
	case !there && p.strangers:
		p.seen[id] = nil
	case !there:
		p.seen[id] = slices.Clone(p.known())
	}
	if rapid.Bool().Draw(t, "tell") {
		p.order.OrderThreads(p.order.Thread(), id)
		p.seen[id] = union(p.seen[id], p.known())
		return
	}
	p.order.SetThread(id)
}

func (p *program) destroy(t *rapid.T) {
	l := p.lane(t)
	p.order.Retire(l.lane)
	l.gone = true
}

// forget drops what is remembered of some lanes, which are free for others as soon as
// they are retired.
func (p *program) forget(t *rapid.T) {
	remembered := make([]bool, p.order.Lanes())
	for i := range remembered {
		remembered[i] = rapid.Bool().Draw(t, "remembered")
	}
	p.works = slices.DeleteFunc(p.works, func(w workModel) bool { return !remembered[w.epoch.Lane] })
	p.order.ForgetLanes(remembered)
	if p.later {
		p.order.ForgetPasts(p.oldest(), 0)
	}
}

// oldest is the position of the oldest work that is remembered, by lane.
func (p *program) oldest() []happensbefore.Position {
	oldest := make([]happensbefore.Position, p.order.Lanes())
	for _, w := range p.works {
		if at := &oldest[w.epoch.Lane]; *at == 0 || w.epoch.Position < *at {
			*at = w.epoch.Position
		}
	}
	return oldest
}

// endCapture retires a lane of captured nodes that the thread has seen complete.
func (p *program) endCapture(t *rapid.T) {
	for _, l := range p.lanes {
		if l.graph && !l.gone {
			p.order.See(l.lane.Clock())
			p.seen[p.order.Thread()] = union(p.known(), l.ends)
			p.order.Retire(l.lane)
			l.gone = true
			return
		}
	}
	t.Skip("nothing is captured")
}

// past is the set of vertices with a path to one of the given ones.
func (p *program) past(of []int) map[int]bool {
	past, followed := map[int]bool{}, map[int]bool{}
	todo := slices.Clone(of)
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch {
		case v < 0:
			past[alone(v)] = true
		case !followed[v]:
			past[v], followed[v] = true, true
			todo = append(todo, p.edges[v]...)
		}
	}
	return past
}

// check compares, for all work that is remembered, each lane and each thread.
func (p *program) check(t *rapid.T) {
	all := map[int]int{}
	for _, ends := range p.seen {
		for v := range p.past(ends) {
			all[v]++
		}
	}
	known := p.past(p.known())
	for _, w := range p.works {
		if got := p.order.Seen(w.epoch); got != known[w.vertex] || p.order.Known().Covers(w.epoch) != got {
			t.Fatalf("the thread has seen %v: %v", w.epoch, got)
		}
		if got := p.order.SeenByAll(w.epoch); got != (all[w.vertex] == len(p.seen) && !p.strangers) {
			t.Fatalf("all threads have seen %v: %v", w.epoch, got)
		}
	}
	for _, l := range p.lanes {
		if l.gone {
			continue
		}
		past := p.past(append(slices.Clone(l.ends), p.known()...))
		for _, w := range p.works {
			if got := p.order.Before(w.epoch, l.lane); got != past[w.vertex] || p.order.Reached(l.lane).Covers(w.epoch) != got {
				t.Fatalf("%v comes before what is given to %v next: %v", w.epoch, l.stream, got)
			}
		}
		if l.lane.Stream() != l.stream || p.order.Lane(l.lane.Last().Lane) != l.lane {
			t.Fatalf("%v is the lane of %v", l.stream, l.lane.Stream())
		}
	}
}

// TestReusedLane: a wait for the device covers what a retired lane came after, although
// its number serves another lane by now.
func TestReusedLane(t *testing.T) {
	order := happensbefore.New()
	other := order.NewLane(spec.DeviceStream{Device: 1, Stream: 1})
	work := order.Submit(other).Epoch
	waiting := order.NewLane(spec.DeviceStream{Device: 0, Stream: 2})
	order.Wait(waiting, other.Clock())
	order.Retire(waiting)
	reused := order.NewLane(spec.DeviceStream{Device: 0, Stream: 3})
	if order.Lanes() != 2 || order.Before(work, reused) {
		t.Errorf("%d lanes, and the new one comes after the work: %v", order.Lanes(), order.Before(work, reused))
	}
	captured := order.NewGraphLane(spec.DeviceStream{Device: 2, Stream: 4})
	order.Wait(captured, other.Clock())
	order.Retire(captured)
	order.NewLane(spec.DeviceStream{Device: 2, Stream: 5})
	order.SynchronizeDevice(2)
	if order.Lanes() != 3 || order.Seen(work) {
		t.Errorf("%d lanes, and a wait for the device covers what only a graph comes after: %v", order.Lanes(), order.Seen(work))
	}
	order.SynchronizeDevice(0)
	if !order.Seen(work) {
		t.Error("the device has come to its end, and what it waited for is not seen")
	}
}

// TestLanesThatComeAndGo: a wait for the device covers the latest work, however many lanes there have been.
func TestLanesThatComeAndGo(t *testing.T) {
	for i := range 4 {
		later, blocking := i&1 > 0, i&2 > 0
		for lanes := range 20 {
			order := happensbefore.New()
			if later {
				order.JoinLater()
			}
			var work happensbefore.Epoch
			for range lanes + 1 {
				l := order.NewLane(spec.DeviceStream{})
				if blocking {
					order.SetBlocking(l)
				}
				work = order.Submit(l).Epoch
				order.Retire(l)
				order.ForgetLanes(make([]bool, order.Lanes()))
			}
			if order.SynchronizeDevice(0); !order.Seen(work) {
				t.Errorf("joined later: %v, blocking: %v: after %d lanes the device has come to its end, and the latest work is not seen", later, blocking, lanes+1)
			}
		}
	}
}

// TestClocksNeverFall: to have seen an earlier piece of work as well changes nothing.
func TestClocksNeverFall(t *testing.T) {
	var c happensbefore.Clock
	for _, p := range []happensbefore.Position{2, 1} {
		c.Raise(happensbefore.Epoch{Lane: 1, Position: p})
		var other happensbefore.Clock
		other.Raise(happensbefore.Epoch{Lane: 1, Position: p})
		c.Join(other)
	}
	if c.Of(0) != 0 || c.Of(1) != 2 || c.Of(2) != 0 {
		t.Error(c)
	}
}

// TestNothingKnown: the clock of what a thread has seen is the zero one as long as that is nothing.
func TestNothingKnown(t *testing.T) {
	for _, later := range []bool{false, true} {
		order := happensbefore.New()
		if later {
			order.JoinLater()
		}
		lane := order.NewLane(spec.DeviceStream{Stream: 1})
		order.Submit(lane)
		if known := order.Known(); known != (happensbefore.Clock{}) {
			t.Errorf("joined later: %v: %v", later, known)
		}
		if order.See(lane.Clock()); order.Known() == (happensbefore.Clock{}) {
			t.Errorf("joined later: %v: nothing is known", later)
		}
	}
}

// TestLanesThatAreNeeded are not reused: those of which a thread has not seen the latest
// work, as long as that is remembered.
func TestLanesThatAreNeeded(t *testing.T) {
	order := happensbefore.New()
	order.SetThread(1)
	order.SetThread(0)
	lane := order.NewLane(spec.DeviceStream{Stream: 1})
	order.ForgetLanes([]bool{false}) // there is no work yet
	order.Submit(lane)
	order.Retire(lane)
	order.See(lane.Clock())
	if order.NewLane(spec.DeviceStream{Stream: 2}); order.Lanes() != 2 {
		t.Error("a lane is reused whose work thread 1 has not seen")
	}
	order.ForgetLanes([]bool{false, true})
	if order.NewLane(spec.DeviceStream{Stream: 3}); order.Lanes() != 2 {
		t.Error("a lane is not reused whose work is forgotten")
	}
}

// TestSeenAlone: who has seen a piece of work complete, and nothing of what came before it in
// other lanes, does not know what an earlier event of its lane knew; nor do those that it tells.
func TestSeenAlone(t *testing.T) {
	for _, how := range []struct{ told, later bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		told := how.told
		order := happensbefore.New()
		if how.later {
			order.JoinLater()
		}
		order.SetThread(1)
		order.SetThread(0)
		first := order.NewLane(spec.DeviceStream{Stream: 1})
		waiting := order.NewLane(spec.DeviceStream{Stream: 2})
		var event, later happensbefore.Clock
		work := order.Submit(first).Epoch
		order.Record(&event, first)
		order.Wait(waiting, event)
		order.Submit(waiting)
		order.Record(&later, waiting)
		order.SeeWork(order.Submit(waiting).Epoch)
		if told {
			order.OrderThreads(0, 1)
			order.SetThread(1)
		}
		if order.Seen(work) {
			t.Error("the work of the other lane is seen too early")
		}
		if order.See(later); !order.Seen(work) {
			t.Errorf("%v: an event is seen, and not what came before it", how)
		}
	}
}

// TestManyVersions: a lane that records events without end, with no work between them, and
// waits in turn. Whoever has waited for one of them has not waited for later ones.
func TestManyVersions(t *testing.T) {
	for _, later := range []bool{false, true} {
		testManyVersions(t, later)
	}
}

func testManyVersions(t *testing.T, later bool) {
	order := happensbefore.New()
	if later {
		order.JoinLater()
	}
	lane := order.NewLane(spec.DeviceStream{Stream: 1})
	other := order.NewLane(spec.DeviceStream{Stream: 2})
	waiting := order.NewLane(spec.DeviceStream{Stream: 3})
	var event happensbefore.Clock
	for _, l := range []*happensbefore.Lane{lane, other} {
		happensbefore.LeaveVersions(l, 10)
	}
	for i := range 30 {
		work := order.Submit(other).Epoch
		if order.PastsDue() {
			oldest := make([]happensbefore.Position, order.Lanes())
			oldest[work.Lane] = work.Position
			order.ForgetPasts(oldest, 1)
		}
		order.Record(&event, other)
		order.Wait(lane, event)
		order.Record(&event, lane)
		if order.Before(work, waiting) {
			t.Fatal("the work comes before what waits for nothing new")
		}
		if order.Wait(waiting, event); !order.Before(work, waiting) {
			t.Fatalf("event %d: what waits for it does not come after the work", i)
		}
	}
	if e := order.Submit(lane).Epoch; e.Position != 1 && !later {
		t.Errorf("the first work is at position %d", e.Position)
	}
}

// TestManyThreadsEnd: threads begin and end in any order, and what all of them have seen is
// right at each point. That a thread ends takes no longer if there are many.
func TestManyThreadsEnd(t *testing.T) {
	o := happensbefore.New()
	lane := o.NewLane(spec.DeviceStream{Stream: 1})
	work := o.Submit(lane)
	random := rand.New(rand.NewPCG(16, 4))
	unaware := map[spec.Thread]bool{0: true}
	for step := range 3000 {
		id := spec.Thread(1 + random.IntN(20))
		switch random.IntN(4) {
		case 0:
			o.EndThread(id)
			delete(unaware, id)
		case 1:
			o.SetThread(id)
			o.SeeWork(work.Epoch)
			delete(unaware, id)
			o.SetThread(0)
		default:
			o.SetThread(id) // a new thread was started by thread 0, which has not seen it
			if !o.Seen(work.Epoch) {
				unaware[id] = true
			}
			o.SetThread(0)
		}
		if got, want := o.SeenByAll(work.Epoch), len(unaware) == 0; got != want {
			t.Fatalf("step %d: seen by all: %v, want %v (%v have not seen it)", step, got, want, unaware)
		}
		if step == 2000 {
			o.SeeWork(work.Epoch)
			delete(unaware, 0)
		}
	}
	const many = 100_000
	begin := time.Now()
	for i := range spec.Thread(many) {
		o.SetThread(100 + i)
	}
	o.SetThread(0)
	for i := range spec.Thread(many) {
		o.EndThread(100 + i)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("%d threads that begin and end take %v", many, took)
	}
}
