package refinement

import (
	"errors"
	"maps"
	"slices"

	"gaugeblock/spec"
)

// Calls are the mallocs under way, one of each thread of the program, where a malloc releases the
// allocator's lock around its driver call. Each runs in a goroutine of its own, which waits before
// and after the driver call. Only one goroutine runs at a time: Malloc returns when the call has
// ended or waits. So a malloc is as many steps as in TwoStepMalloc.tla, in any order with the
// steps of others.
type Calls struct {
	// Waits, if given, is called when a call has come to wait, and GoesOn before it goes on.
	Waits, GoesOn func(r spec.Request)

	underWay map[spec.Thread]*call
	running  *call
}

// call is a malloc under way.
type call struct {
	request spec.Request
	proceed chan struct{} // it is to go on
	stopped chan struct{} // it waits, or has ended
	ended   bool
	ptr     spec.Ptr // when it has ended
	err     error

	attempt  int // at a driver allocation, from 1
	answered bool
	granted  spec.Ptr
}

// ErrUnderWay is returned by a malloc that has not ended.
var ErrUnderWay = errors.New("the malloc is under way")

// NewCalls are none.
func NewCalls() *Calls { return &Calls{underWay: map[spec.Thread]*call{}} }

// Malloc begins a malloc of the request's thread, or goes on with the one that is under way. It
// returns ErrUnderWay if the malloc has not ended.
func (c *Calls) Malloc(r spec.Request, malloc func(spec.Request) (spec.Ptr, error)) (spec.Ptr, error) {
	k := c.underWay[r.Thread]
	if k == nil {
		k = &call{request: r, proceed: make(chan struct{}), stopped: make(chan struct{}), attempt: 1}
		c.underWay[r.Thread], c.running = k, k
		go func() {
			k.ptr, k.err = malloc(r)
			k.ended = true
			k.stopped <- struct{}{}
		}()
	} else {
		c.running = k
		if c.GoesOn != nil {
			c.GoesOn(k.request)
		}
		k.proceed <- struct{}{}
	}
	<-k.stopped
	if k.ended {
		delete(c.underWay, r.Thread)
		return k.ptr, k.err
	}
	if c.Waits != nil {
		c.Waits(k.request)
	}
	return 0, ErrUnderWay
}

// AroundDriver makes the driver call of the malloc that runs, which waits before and after it.
func (c *Calls) AroundDriver(malloc func() (spec.Ptr, error)) (ptr spec.Ptr, err error) {
	k := c.running
	k.answered, k.granted = false, 0
	k.wait()
	ptr, err = malloc()
	if k.answered = true; err == nil {
		k.granted = ptr
	}
	k.wait()
	return ptr, err
}

func (k *call) wait() {
	k.stopped <- struct{}{}
	<-k.proceed
}

// End lets all calls end.
func (c *Calls) End() {
	for _, t := range slices.Sorted(maps.Keys(c.underWay)) {
		for c.underWay[t] != nil {
			_, _ = c.Malloc(spec.Request{Thread: t}, nil)
		}
	}
}
