package points

import "gaugeblock/spec/happensbefore"

// What the instrumented build says of itself (Register).
var (
	// Sites lists the points of the source. It is empty in a build that is not instrumented.
	Sites []Site
	// Mutants lists the names of the mutants that are built in.
	Mutants []string
	// Mutant is the name of the mutant that is in force; "" is the reference.
	Mutant string
)

// A Kind is what is done at a point.
type Kind string

// The kinds of points.
const (
	Acquire Kind = "acquire" // a mutex is about to be taken
	Release Kind = "release" // a mutex has been released
	Atomic  Kind = "atomic"  // an atomic is about to be read or written
	Dynamic Kind = "call"    // the driver, or a function of the program, is about to be called
	Spin    Kind = "spin"    // the thread asks to let others run
)

// A Site is a point in the source.
type Site struct {
	Kind     Kind
	Position string // file and line, which its points are reported with
	Function string // in which it is
	// the method that is called, with its type: "Driver.Malloc"; of a function "func"
	Callee string
	Text   string // the call
}

// Register is called by the instrumented build.
func Register(sites []Site, mutants []string) { Sites, Mutants = sites, mutants }

// A Run is one run of several threads, of which one runs at a time. Beside them there is the
// main thread, with the number of threads as its own, which runs before and after them.
type Run struct {
	// Pause is called at each point with the running thread about to do what is said. It
	// returns when that thread is to go on.
	Pause func(kind Kind, site string)

	thread  int // that runs
	main    int
	waits   []func() bool // by thread: what it waits for, or nil
	spins   []bool        // by thread: it waits in Gosched
	changes int           // of mutexes and atomics
	last    []lastFailure // by thread
	clocks  []happensbefore.Clock
	cells   map[uintptr]*cell
	kept    []any // what cells are about, so that its memory is not used again
	race    *Race
	reached map[string]int
}

// run is the one under way, or nil. There is one at a time.
var run *Run

// Begin begins a run. The main thread runs.
func Begin(threads int) *Run {
	run = &Run{
		main: threads, thread: threads,
		waits: make([]func() bool, threads+1), spins: make([]bool, threads+1), last: make([]lastFailure, threads+1),
		clocks: make([]happensbefore.Clock, threads+1),
		cells:  map[uintptr]*cell{}, reached: map[string]int{},
	}
	for i := range run.clocks {
		run.clocks[i].Tick(i)
	}
	return run
}

// Fork is called when the threads begin: they come after all that the main thread did.
func (r *Run) Fork() {
	for i := range r.main {
		r.clocks[i].Join(r.clocks[r.main])
	}
	r.clocks[r.main].Tick(r.main)
}

// Join is called when the threads have ended: the main thread comes after them.
func (r *Run) Join() {
	r.thread = r.main
	for i := range r.main {
		r.clocks[r.main].Join(r.clocks[i])
	}
}

// Publish is what the running thread has done so far, for Observe. It stands for the order that the
// program makes when one thread passes something to another.
func (r *Run) Publish() happensbefore.Clock {
	c := r.clocks[r.thread]
	r.clocks[r.thread].Tick(r.thread)
	return c
}

// Observe says that what was published comes before what the running thread does from here on.
func (r *Run) Observe(c happensbefore.Clock) { r.clocks[r.thread].Join(c) }

// End ends the run.
func (r *Run) End() { run = nil }

// Resume says which thread runs from here on.
func (r *Run) Resume(thread int) { r.thread = thread }

// Ready reports whether a thread can go on.
func (r *Run) Ready(thread int) bool { return r.waits[thread] == nil || r.waits[thread]() }

// Reached is how often the points at each position were reached, by any thread.
func (r *Run) Reached() map[string]int { return r.reached }

// Race is the first data race of the run, or nil.
func (r *Run) Race() *Race { return r.race }

// point lets the scheduler choose. It does nothing in the main thread.
func point(kind Kind, site string) {
	r := run
	if r == nil {
		return
	}
	r.reached[site]++
	if r.thread != r.main && r.Pause != nil {
		r.Pause(kind, site)
	}
}

// Deadlock is the panic of a thread that waits for what can never happen: it is the only one
// that runs.
type Deadlock struct{ Site string }

func (d Deadlock) Error() string { return "waits forever at " + d.Site }

// waitUntil lets others run until something holds. The running thread is not ready before.
func waitUntil(site string, holds func() bool) {
	if holds() {
		return
	}
	r := run
	if r == nil || r.thread == r.main {
		panic(Deadlock{site})
	}
	me := r.thread
	r.waits[me] = holds
	for !holds() {
		r.Pause(Acquire, site)
	}
	r.waits[me] = nil
}

// lastFailure is an operation of a thread that failed, or read an atomic, and how often in
// succession, with no other point between.
type lastFailure struct {
	of    any
	times int
}

// mostFailures is how often a thread may repeat what cannot succeed while nobody else runs.
const mostFailures = 3

// failed is called when a thread has tried something in vain: a compare-and-swap or a TryLock.
// If it only repeats that, it is spinning, and is not ready until it would succeed.
func failed(of any, site string, wouldSucceed func() bool) {
	r := run
	if r == nil {
		return
	}
	l := &r.last[r.thread]
	if l.of != of {
		*l = lastFailure{of, 0}
	}
	if l.times++; l.times > mostFailures {
		l.times = 0
		waitUntil(site, wouldSucceed)
	}
}

// Gosched stands in for runtime.Gosched: the thread lets others run until one of them has changed
// a mutex or an atomic, or none can go on.
func Gosched(site string) {
	r := run
	if r == nil || r.thread == r.main {
		return
	}
	r.reached[site]++
	me, seen := r.thread, r.changes
	r.waits[me] = func() bool { return r.changes != seen }
	r.spins[me] = true
	r.Pause(Spin, site)
	r.spins[me] = false
	r.waits[me] = nil
}

// Spins reports whether a thread that is not ready could go on nevertheless, since it only lets
// others run.
func (r *Run) Spins(thread int) bool { return r.spins[thread] }

// threadName is A for the first thread, - for the main thread.
func (r *Run) threadName(thread int) string {
	if thread == r.main {
		return "-"
	}
	return string(rune('A' + thread))
}

// epoch is the running thread with its position in its own clock.
func (r *Run) epoch() happensbefore.Epoch {
	return happensbefore.Epoch{Lane: r.thread, Position: r.clocks[r.thread].Of(r.thread)}
}

// acquire: what released the clock comes before what the running thread does from here on.
func acquire(c *happensbefore.Clock) {
	if r := run; r != nil {
		r.clocks[r.thread].Join(*c)
	}
}

// release: what the running thread did so far comes before what acquires the clock.
func release(c *happensbefore.Clock) {
	if r := run; r != nil {
		r.changes++
		c.Set(r.clocks[r.thread])
		r.clocks[r.thread].Tick(r.thread)
	}
}

// releaseMore keeps what the clock had.
func releaseMore(c *happensbefore.Clock) {
	if r := run; r != nil {
		r.changes++
		c.Join(r.clocks[r.thread])
		r.clocks[r.thread].Tick(r.thread)
	}
}
