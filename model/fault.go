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

// A Call is a driver call that an operation makes.
type Call struct {
	Name   string
	Failed State // the state after the operation, if this call fails
}

// Calls are the driver calls of an operation.
type Calls struct {
	Made []Call

	// Refused has an entry for each time that the driver had no memory although the device has
	// (DriverResults.Refusals): how many calls were made until then. A malloc goes on, and a
	// later call can fail.
	Refused []int
}

// Calls are the driver calls that an operation makes.
func (s State) Calls(operation func(State) State) Calls {
	current := s.Current
	s.logsCalls, s.calls = true, Calls{}
	calls := operation(s).calls
	for i := range calls.Made {
		calls.Made[i].Failed.Current = current // not that of a malloc's request any more
	}
	return calls
}

// Names are the names of the calls.
func (c Calls) Names() (names []string) {
	for _, call := range c.Made {
		names = append(names, call.Name)
	}
	return names
}

// driverCall comes before each driver call. At this time the state is that of the segments,
// blocks and events for which all earlier calls were made.
func (s *State) driverCall(name string) {
	if !s.logsCalls {
		return
	}
	now := s.copy()
	now.logsCalls, now.calls = false, Calls{}
	now.renumber()
	s.calls.Made = append(s.calls.Made, Call{name, now})
}

// refused comes when the driver has no memory although the device has.
func (s *State) refused() {
	if s.logsCalls {
		s.calls.Refused = append(s.calls.Refused, len(s.calls.Made))
	}
}
