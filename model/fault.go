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

// driverCalls counts the driver calls of an operation, one of which fails.
type driverCalls struct {
	made  []string
	fails int // the number of the call that fails, from 1
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
	if len(s.calls.made) == s.calls.fails {
		panic(interrupted{*s})
	}
}

// Interrupted is the state after an operation whose nth driver call, counted from 1, failed,
// and the calls that were made: the last is the one that failed. There are no calls if the
// operation makes fewer than n.
func (s State) Interrupted(nth int, operation func(State)) (next State, calls []string) {
	counted := &driverCalls{fails: nth}
	s.calls = counted
	defer func() {
		if len(counted.made) == nth {
			next, calls = recover().(interrupted).at, counted.made
			next.calls = nil
		}
	}()
	operation(s)
	return next, nil
}
