package fakegpu

import (
	"math/rand/v2"
	"testing"
	"time"

	"gaugeblock/spec"
)

const ms = time.Millisecond

// inMilliseconds are durations by which to give work takes the host 1 ms, any other call nothing, and work as many
// milliseconds as it moves bytes, for a share in hundredths of the device that is its operations.
func inMilliseconds() Durations {
	return Durations{
		Give: func() time.Duration { return ms },
		Work: func(bytes, operations uint64) (starts, computes time.Duration, share float64) {
			return 0, time.Duration(bytes) * ms, float64(operations) / 100
		},
		On: func(name string) Engine {
			return map[string]Engine{"in": FromHost, "out": ToHost, "beside": Beside}[name]
		},
	}
}

// timed is a machine with such durations.
func timed(t *testing.T, d Durations) timedRun {
	t.Helper()
	s := ByTime(d)
	return timedRun{t, NewMachine(Config{Schedule: s, Devices: Devices(1, 1<<30)}).NewProcess(), s.(*byTime)}
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

// works gives work that is in no other's way, and shares gives work that has a share of the device, in hundredths.
func (r timedRun) works(s spec.Stream, name string, milliseconds uint64) {
	r.shares(s, name, milliseconds, 0)
}

func (r timedRun) shares(s spec.Stream, name string, milliseconds, share uint64) {
	r.must(r.g.LaunchSized(spec.Launch{Stream: s, Name: name}, milliseconds, share, 0))
}

// ends says when all that was given to a stream is over.
func (r timedRun) ends(s spec.Stream, want time.Duration) {
	r.t.Helper()
	r.must(r.g.SynchronizeStream(0, s))
	if got := r.g.streams[s].clock; got != want {
		r.t.Errorf("the stream is done at %v, not %v", got, want)
	}
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
	d := inMilliseconds()
	d.On = nil
	d.First = func(string, uint64) (time.Duration, bool) { return 10 * ms, false }
	d.Work = func(bytes, _ uint64) (starts, computes time.Duration, share float64) {
		return time.Duration(bytes) * ms, 0, 1
	}
	r := timed(t, d)
	g, b := r.g, r.b
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

// Copies to the host and from it take as many times as long as the link is slower.
func TestByTimeLink(t *testing.T) {
	d := inMilliseconds()
	d.Link = 5
	r := timed(t, d)
	for _, w := range []struct {
		name  string
		takes time.Duration
	}{{"in", 50 * ms}, {"out", 50 * ms}, {"beside", 10 * ms}} {
		s := r.stream()
		r.works(s, w.name, 10)
		r.ends(s, r.b.now+w.takes)
	}
}

// A kernel's code is loaded once, with all kernels that it has, and some has to wait for all streams.
func TestByTimeFirst(t *testing.T) {
	d := inMilliseconds()
	d.First = func(name string, _ uint64) (time.Duration, bool) {
		return map[string]time.Duration{"a": 10 * ms, "b": 7 * ms}[name], name == "waits"
	}
	r := timed(t, d)
	for _, name := range []string{"a", "b", "c", "a", "b"} {
		r.works(0, name, 0)
	}
	if r.b.now != 22*ms {
		t.Error(r.b.now)
	}
	r.works(r.stream(), "beside", 100) // given at 23
	r.works(0, "waits", 0)
	r.works(0, "waits", 0)
	if r.b.now != 124*ms {
		t.Error(r.b.now)
	}
	for _, code := range []uint64{1, 1, 2} {
		for _, name := range []string{"a", "b"} {
			r.must(r.g.LaunchSized(spec.Launch{Name: name}, 0, 0, code))
		}
	}
	if r.b.now != 124*ms+6*ms+20*ms { // "a" has loaded each
		t.Error(r.b.now)
	}
}

// A wait is for what the event marked, not for what its stream was given later.
func TestByTimeWaitsForTheMark(t *testing.T) {
	r := timed(t, inMilliseconds())
	first, second := r.stream(), r.stream()
	r.works(first, "beside", 10) // over at 11
	e := r.event(first)
	r.works(second, "beside", 30) // given at 2, over at 32
	r.must(r.g.WaitEvent(0, second, e))
	r.works(first, "beside", 100)
	r.works(second, "beside", 1)
	r.ends(second, 33*ms)
}

// What ranks do together begins when the last of them has given it. Others fall behind while the host works, also if it
// loads code, and catch up while it waits.
func TestByTimeRanks(t *testing.T) {
	d, share := inMilliseconds(), 0.5
	d.Behind = func(time.Duration) float64 { return share }
	d.First = func(name string, _ uint64) (time.Duration, bool) { return time.Duration(len(name)) * ms, false }
	r := timed(t, d)
	first, second := r.stream(), r.stream()
	r.works(first, "beside", 10)      // given at 7, by others at 10.5, over at 20.5
	r.shares(second, "alone", 1, 100) // given at 13, over at 14
	r.ends(second, 14*ms)             // others were 6.5 behind and are 5.5
	r.works(second, "beside", 1)      // given at 15, by others at 15 + 6
	r.ends(second, 22*ms)             // they are as far as this one
	r.works(first, "beside", 1)       // given at 23, by others at 23.5
	r.ends(first, 24500*time.Microsecond)
	r.must(r.g.AddHostArea(spec.Range{Ptr: 1 << 40, Bytes: 1 << 20}, nil)) // waits for nothing: nobody catches up
	r.works(first, "beside", 1)                                            // given at 25.5, by others at 26
	r.ends(first, 27*ms)
	share = -1
	r.works(first, "beside", 1) // given at 28: nobody gives it before the last
	r.ends(first, 29*ms)
}

// Work shares the device: what begins later has what is left, and all of its share again when that before it is over.
func TestByTimeShares(t *testing.T) {
	r := timed(t, inMilliseconds())
	first, second, third, fourth, beside := r.stream(), r.stream(), r.stream(), r.stream(), r.stream()
	r.shares(first, "a", 10, 75)      // given at 1, over at 11
	r.shares(second, "a", 10, 75)     // from 2: 9 with a quarter of the device, and then 7 with three
	r.shares(third, "a", 4, 100)      // from 3: nothing until 11, a quarter for 7, and then 2.25 with all of it
	r.shares(beside, "beside", 5, 50) // from 4
	r.shares(fourth, "a", 8, 25)      // nothing until 20.25
	r.ends(beside, 9*ms)
	r.ends(first, 11*ms)
	r.ends(second, 18*ms)
	r.ends(third, 20250*time.Microsecond)
	r.ends(fourth, 28250*time.Microsecond)
}

// Copies from the host are one after the other, whatever their streams, and beside them are those to the host and kernels.
func TestByTimeCopies(t *testing.T) {
	r := timed(t, inMilliseconds())
	first, second, third := r.stream(), r.stream(), r.stream()
	r.works(first, "in", 10)       // given at 1
	r.works(second, "in", 10)      // given at 2
	r.works(third, "out", 10)      // given at 3
	r.shares(third, "a", 10, 100)  // given at 4, begins at 13
	r.shares(second, "a", 10, 100) // given at 5, begins at 23 as the third is done
	r.ends(first, 11*ms)
	r.ends(third, 23*ms)
	r.ends(second, 33*ms)
}

// An allocation waits for the copies from the host that are under way, as many as it is said, and for no other work.
func TestByTimeMemory(t *testing.T) {
	for copies, want := range []time.Duration{13, 21, 31, 41, 41} {
		d := inMilliseconds()
		d.Copies, d.Memory = copies, 8*ms
		r := timed(t, d)
		side := r.stream()
		r.works(r.stream(), "out", 1000)
		r.shares(0, "a", 1000, 100)
		for range 3 {
			r.works(side, "in", 10) // the first is given at 3, and over at 13
		}
		_, err := r.g.Malloc(0, 1<<20)
		if r.must(err); r.b.now != want*ms {
			t.Errorf("%d copies: the host is at %v, not %d ms", copies, r.b.now, want)
		}
	}
}

// The host takes long to let devices reach much of its memory, and for a page it has a time of its own.
func TestByTimePinned(t *testing.T) {
	d := inMilliseconds()
	d.Pin, d.Page, d.Memory = 2*ms, 5*ms, 100*ms
	r := timed(t, d)
	r.must(r.g.AddHostArea(spec.Range{Ptr: 1 << 40, Bytes: 3 << 19}, nil))
	if r.b.now != 3*ms {
		t.Errorf("the host is at %v", r.b.now)
	}
	_, err := r.g.CreatePage(0, 2<<20, spec.SharePOSIX)
	if r.must(err); r.b.now != 8*ms {
		t.Errorf("the host is at %v", r.b.now)
	}
}

// usage is what a device does that gives each piece of work what is left of it in each tick.
func TestUsage(t *testing.T) {
	drawn := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var u usage
		var taken []float64 // in each tick
		from := time.Duration(0)
		for range 12 {
			from += time.Duration(drawn.IntN(400))
			long, share := time.Duration(drawn.IntN(500)), float64(1+drawn.IntN(8))/8
			end, left := from, share*float64(long)
			for left > 1e-6 {
				for int(end) >= len(taken) {
					taken = append(taken, 0)
				}
				free := min(share, 1-taken[end])
				taken[end] += min(free, left)
				left -= free
				end++
			}
			if got := u.take(from, long, share); got < end-12 || got > end+12 {
				t.Fatalf("from %v, %v with %v: over at %v, not %v", int64(from), int64(long), share, int64(got), int64(end))
			}
		}
	}
}
