package model

// Driver calls can fail. The operation that made the call ends there and returns the driver's
// error. What it did before stays done: the events that were complete, the memory that was
// released. What it would have done later is not done. So the state after a failure is the
// state in which the call was made.
//
// This is not so for a driver that has no memory: malloc has rules for it (malloc.go).

// Driver calls that can fail, with the names of spec.Driver and spec.VirtualMemory. Calls that
// are undone together count as one: those that create pages, map them and give access to
// them. Where the device has no memory for all pages, only creating them can fail.
const (
	callMalloc            = "Malloc"
	callFree              = "Free"
	callRecordEvent       = "RecordEvent" // creating the event first, if there is no unused one
	callQueryEvent        = "QueryEvent"
	callSynchronizeEvent  = "SynchronizeEvent"
	callReserveAddress    = "ReserveAddress"
	callFreeAddress       = "FreeAddress"
	callCreatePages       = "CreatePage"
	callMapPages          = "MapPage"
	callSynchronizeStream = "SynchronizeStream"
	callUnmapPage         = "UnmapPage" // and releasing the page
	callCaptureStatus     = "CaptureStatus"
)

// Of a malloc two calls can fail: it goes on if the driver has no memory (refused), and then a
// later call can fail.

// driverCalls counts the driver calls of an operation, one of which fails.
type driverCalls struct {
	made  []string
	fails int // the number of the call that fails, from 1

	refusals     int  // how often the driver had no memory, whatever the device has
	afterRefusal bool // the number is that among the calls after the first refusal
	before       int  // how many calls were made until then
}

// isDue reports whether the last call fails.
func (c *driverCalls) isDue() bool {
	if c.afterRefusal && c.refusals == 0 {
		return false
	}
	return len(c.made)-c.before == c.fails
}

// refused comes when the driver has no memory although the device has.
func (s *State) refused() {
	if c := s.calls; c != nil {
		if c.refusals++; c.refusals == 1 && c.afterRefusal {
			c.before = len(c.made)
		}
	}
}

// interrupted is the panic by which a failing driver call ends an operation.
type interrupted struct{ at State }

// driverCall comes before each driver call. At this time the state is that of the segments,
// blocks and events for which all earlier calls were made.
func (s *State) driverCall(name string) {
	if s.calls == nil {
		return
	}
	s.calls.made = append(s.calls.made, name)
	if s.calls.isDue() {
		panic(interrupted{*s})
	}
}

// Interrupted is the state after an operation whose nth driver call, counted from 1, failed,
// and the calls that were made: the last is the one that failed. There are no calls if the
// operation makes fewer than n.
func (s State) Interrupted(nth int, operation func(State)) (next State, calls []string) {
	return s.interrupted(&driverCalls{fails: nth}, operation)
}

// InterruptedAfterRefusal is the state after a malloc for which the driver had no memory
// (DriverResults.Refusals), and whose nth driver call after that failed; and the calls that were
// made, so many of them until the refusal.
func (s State) InterruptedAfterRefusal(nth int, malloc func(State)) (next State, calls []string, before int) {
	counted := &driverCalls{fails: nth, afterRefusal: true}
	next, calls = s.interrupted(counted, malloc)
	return next, calls, counted.before
}

// Refusals is how often the driver has no memory, whatever the device has, in a malloc.
func (s State) Refusals(malloc func(State)) int {
	counted := &driverCalls{}
	s.interrupted(counted, malloc)
	return counted.refusals
}

func (s State) interrupted(counted *driverCalls, operation func(State)) (next State, calls []string) {
	s.calls = counted
	defer func() {
		if len(counted.made) > 0 && counted.isDue() {
			next, calls = recover().(interrupted).at, counted.made
			next.calls = nil
		}
	}()
	operation(s)
	return next, nil
}
