package fakegpu

import (
	"testing"
	"time"

	"gaugeblock/spec"
)

const ms = time.Millisecond

// timed is a machine on which to give work takes the host 1 ms, or 11 if its name is new, any other call nothing,
// and work as many milliseconds as it moves bytes.
func timed(t *testing.T) (*GPU, *byTime) {
	t.Helper()
	s := ByTime(Durations{Give: ms, First: 10 * ms, Work: func(bytes, _ uint64) time.Duration { return time.Duration(bytes) * ms }})
	return NewMachine(Config{Schedule: s}).NewProcess(), s.(*byTime)
}

// A timedRun is a program on such a machine, whose calls must not fail.
type timedRun struct {
	t *testing.T
	g *GPU
	b *byTime
}

func (r timedRun) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r timedRun) stream() spec.Stream {
	s, err := r.g.CreateStream(0)
	r.must(err)
	return s
}

func (r timedRun) works(s spec.Stream, name string, milliseconds uint64) {
	r.must(r.g.LaunchSized(spec.Launch{Stream: s, Name: name}, milliseconds, 0))
}

func (r timedRun) event(s spec.Stream) spec.EventHandle {
	e, err := r.g.CreateEvent(0)
	r.must(err)
	r.must(r.g.RecordEvent(e, 0, s))
	return e
}

func (r timedRun) over(e spec.EventHandle, since time.Duration, want bool) {
	r.t.Helper()
	complete, err := r.g.QueryEvent(e)
	r.must(err)
	now := r.b.now
	if got := complete && r.g.EventSeen(e, 1, since); got != want || r.b.now != now {
		r.t.Errorf("at %v the event is complete: %v", r.b.now, got)
	}
}

// Work is over when the host has come to its end, and streams run beside each other unless they wait.
func TestByTime(t *testing.T) {
	g, b := timed(t)
	r := timedRun{t, g, b}
	first, second := r.stream(), r.stream()
	r.works(first, "a", 20) // given at 11, over at 31
	long := r.event(first)
	r.works(second, "a", 5) // given at 12, over at 17
	short := r.event(second)
	r.must(g.WaitEvent(0, second, long))
	r.works(second, "a", 7) // given at 13, begins at 31, over at 38
	last := r.event(second)
	r.over(short, 0, false)
	for range 3 {
		r.works(first, "a", 1) // given at 16, over at 34
	}
	r.over(short, 0, false) // the host is at 16
	r.works(first, "a", 1)  // the host is at 17
	r.over(short, 0, true)
	r.over(short, ms, false)
	r.over(long, 0, false)
	r.must(g.SynchronizeEvent(long))
	if b.now != 31*ms {
		t.Errorf("the host has waited until %v", b.now)
	}
	r.over(short, 14*ms, true)
	r.over(short, 15*ms, false)
	r.over(last, 0, false)
	r.must(g.SynchronizeDevice(0))
	if b.now != 38*ms {
		t.Errorf("the host has waited until %v", b.now)
	}
	r.over(last, 0, true)
}

// The name of a kernel takes longer once.
func TestByTimeFirst(t *testing.T) {
	g, b := timed(t)
	r := timedRun{t, g, b}
	for _, name := range []string{"a", "b", "a", "b"} {
		r.works(0, name, 0)
	}
	if b.now != 24*ms {
		t.Error(b.now)
	}
}

// A wait is for what the event marked, not for what its stream was given later.
func TestByTimeWaitsForTheMark(t *testing.T) {
	g, b := timed(t)
	r := timedRun{t, g, b}
	first, second := r.stream(), r.stream()
	r.works(first, "a", 10) // over at 21
	e := r.event(first)
	r.works(second, "a", 30) // given at 12, over at 42
	r.must(g.WaitEvent(0, second, e))
	r.works(first, "a", 100)
	r.works(second, "a", 1)
	r.must(g.SynchronizeStream(0, second))
	if b.now != 43*ms {
		t.Errorf("the second stream is over at %v", b.now)
	}
}

// What is late begins later, and what waits for it too.
func TestByTimeLate(t *testing.T) {
	b := ByTime(Durations{
		Give: ms, Work: func(bytes, _ uint64) time.Duration { return time.Duration(bytes) * ms },
		Late: func(name string, n uint64) time.Duration { return time.Duration(n*uint64(len(name))) * ms },
	}).(*byTime)
	r := timedRun{t, NewMachine(Config{Schedule: b}).NewProcess(), b}
	first, second := r.stream(), r.stream()
	r.works(first, "", 2)    // given at 1, over at 3
	r.works(first, "ab", 10) // given at 2, begins at 3 + 4, over at 17
	late := r.event(first)
	r.must(r.g.WaitEvent(0, second, late))
	r.works(second, "abc", 1) // given at 3, begins at 17 + 9, over at 27
	last := r.event(second)
	r.must(r.g.SynchronizeEvent(late))
	if b.now != 17*ms {
		t.Errorf("the first stream is done at %v", b.now)
	}
	r.must(r.g.SynchronizeEvent(last))
	if b.now != 27*ms {
		t.Errorf("the second stream is done at %v", b.now)
	}
}
