package points

import (
	"fmt"
	"unsafe"

	"gaugeblock/spec/happensbefore"
)

// IgnoreRaces: no data race is looked for.
var IgnoreRaces bool

// A Race is two accesses of the same memory that nothing orders, of which one writes.
type Race struct {
	First, Second           string // the places
	FirstThread             string
	SecondThread            string
	FirstWrites, LastWrites bool
}

func (r *Race) Error() string {
	verb := map[bool]string{true: "writes", false: "reads"}
	return fmt.Sprintf("data race: %s %s at %s, then %s %s the same at %s, and nothing orders the two",
		r.FirstThread, verb[r.FirstWrites], r.First, r.SecondThread, verb[r.LastWrites], r.Second)
}

// A cell is the accesses of eight bytes that a later access could race with: the last write,
// and each thread's last read.
type cell struct {
	write access
	reads []access // by thread
}

type access struct {
	by   happensbefore.Epoch // Position 0: there is none
	site string
}

// R says that memory is about to be read, and returns its address.
func R[T any](p *T, site string) *T {
	if run != nil && p != nil {
		run.access(unsafe.Pointer(p), unsafe.Sizeof(*p), site, false)
	}
	return p
}

// W says that memory is about to be written, and returns its address.
func W[T any](p *T, site string) *T {
	if run != nil && p != nil {
		run.access(unsafe.Pointer(p), unsafe.Sizeof(*p), site, true)
	}
	return p
}

// MapR says that a map is about to be read. All of it counts as one piece of memory.
func MapR[M ~map[K]V, K comparable, V any](m M, site string) M {
	if run != nil && m != nil {
		run.access(*(*unsafe.Pointer)(unsafe.Pointer(&m)), 1, site, false)
	}
	return m
}

// MapW says that a map is about to be written.
func MapW[M ~map[K]V, K comparable, V any](m M, site string) M {
	if run != nil && m != nil {
		run.access(*(*unsafe.Pointer)(unsafe.Pointer(&m)), 1, site, true)
	}
	return m
}

// granule is how many bytes a cell stands for.
const granule = 8

// access checks an access of n bytes against the earlier ones, and keeps it. The main thread
// comes before all others, or after them: what it does is in no race.
func (r *Run) access(p unsafe.Pointer, bytes uintptr, site string, writes bool) {
	if bytes == 0 || IgnoreRaces || r.thread == r.main {
		return
	}
	now, kept := access{r.epoch(), site}, false
	for at := uintptr(p) / granule; at <= (uintptr(p)+bytes-1)/granule; at++ {
		c := r.cells[at]
		if c == nil {
			c = &cell{reads: make([]access, r.main)}
			r.cells[at] = c
			if !kept {
				r.kept, kept = append(r.kept, p), true
			}
		}
		r.check(c, site, writes)
		if writes {
			c.write = now
			clear(c.reads)
		} else {
			c.reads[r.thread] = now
		}
	}
}

// check finds an earlier access that is not ordered before one of the running thread.
func (r *Run) check(c *cell, site string, writes bool) {
	r.compare(c.write, true, site, writes)
	if writes {
		for _, read := range c.reads {
			r.compare(read, false, site, writes)
		}
	}
}

func (r *Run) compare(first access, firstWrites bool, site string, writes bool) {
	if r.race != nil || first.by.Position == 0 || r.clocks[r.thread].Covers(first.by) {
		return
	}
	r.race = &Race{
		First: first.site, FirstThread: r.threadName(first.by.Lane), FirstWrites: firstWrites,
		Second: site, SecondThread: r.threadName(r.thread), LastWrites: writes,
	}
}
