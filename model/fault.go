package model

// Driver calls can fail. The operation that made the call ends there and returns the driver's
// error. What it did before stays done: the events that were complete, the memory that was
// released. What it would have done later is not done. So the state after a failure is the
// state in which the call was made.
//
// This is not so for a driver that has no memory: malloc has rules for it (malloc.go).

// Driver calls that can fail, with the names of spec.Driver and spec.VirtualMemory. One that
// maps pages stands for the calls that create the pages and give access to them, too: all
// are undone if one of them fails.
const (
	callMalloc            = "Malloc"
	callFree              = "Free"
	callRecordEvent       = "RecordEvent" // creating the event first, if there is no unused one
	callQueryEvent        = "QueryEvent"
	callSynchronizeEvent  = "SynchronizeEvent"
	callReserveAddress    = "ReserveAddress"
	callFreeAddress       = "FreeAddress"
	callMapPages          = "MapPage"
	callSynchronizeStream = "SynchronizeStream"
	callUnmapPage         = "UnmapPage" // and releasing the page
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

// A DriverFault is a driver call that failed.
type DriverFault struct {
	Call string // with the name in spec.Driver or spec.VirtualMemory
	Nth  int    // among the calls of this name of the operation, from 1
}

// Interrupted is the state after an operation whose nth driver call, counted from 1, failed.
// met is false if the operation makes fewer driver calls.
func (s State) Interrupted(nth int, operation func(State)) (next State, fault DriverFault, met bool) {
	calls := &driverCalls{fails: nth}
	s.calls = calls
	defer func() {
		if len(calls.made) < nth {
			return
		}
		stopped := recover().(interrupted)
		next, met = stopped.at, true
		next.calls = nil
		fault.Call = calls.made[nth-1]
		for _, name := range calls.made {
			if name == fault.Call {
				fault.Nth++
			}
		}
	}()
	operation(s)
	return State{}, fault, false
}
