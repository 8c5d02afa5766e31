package fakegpu

import (
	"fmt"

	"gaugeblock/spec"
)

// call is a method of the interfaces in spec that stands for a call of CUDA.
// DeviceCount, FreeForbidden and ProcessID are not among them: they cannot fail.
type call uint8

const (
	callProperties call = iota
	callMalloc
	callFree
	callMemInfo
	callCreateEvent
	callRecordEvent
	callQueryEvent
	callSynchronizeEvent
	callDestroyEvent
	callSynchronizeStream
	callSynchronizeDevice
	callCaptureStatus
	callNodeDependencies
	callReserveAddress
	callFreeAddress
	callCreatePage
	callReleasePage
	callMapPage
	callSetAccess
	callUnmapPage
	callShareMemory
	callOpenMemory
	callCloseMemory
	callExportPage
	callImportPage
	callCanAccessPeer
	callEnablePeerAccess // up to here as in spec.DriverCalls
	callCreateStream
	callDestroyStream
	callLaunch
	callFill
	callCopy
	callReadBack
	callWaitEvent
	callBeginCapture
	callEndCapture
	callInstantiate
	callLaunchGraph
	callDestroyGraph
	callDestroyGraphExec

	numCalls
)

// What a test says to the fake device is no call of the driver: it is neither
// counted nor made to fail. But its errors have to say where they come from.
const (
	sayAddStream = numCalls + iota
	sayBusy
	sayDrain
	sayAddHostArea
)

// callNames are the names of the methods in spec, in the order of the constants.
var callNames = append(spec.DriverCalls(),
	"CreateStream", "DestroyStream", "Launch", "Fill", "Copy", "ReadBack", "WaitEvent",
	"BeginCapture", "EndCapture", "Instantiate", "LaunchGraph", "DestroyGraph", "DestroyGraphExec",
	"AddStream", "Busy", "Drain", "AddHostArea",
)

func (c call) String() string { return callNames[c] }

func parseCall(name string) (call, error) {
	for i, n := range callNames[:numCalls] {
		if n == name {
			return call(i), nil
		}
	}
	return 0, fmt.Errorf("fakegpu: there is no driver call %q", name)
}

// virtual reports whether CUDA offers the call in its driver interface only, whose
// errors have other names than the runtime's.
func (c call) virtual() bool {
	return c >= callReserveAddress && c <= callUnmapPage || c == callExportPage || c == callImportPage
}

// calls counts what a process has called, and knows what is to fail.
type calls struct {
	made   [numCalls]uint64
	faults []fault // in order of planning
	lost   error   // the sticky error, once there is one
}

// CallCount is how often a process has made a call, failed ones included.
type CallCount struct {
	Call  string // in the words of spec: "Malloc", "MapPage"
	Count uint64
}

// Calls lists the calls made so far, in the order of spec; those never made are
// left out. With FailCall it lets a test fail every call of a run in turn.
func (g *GPU) Calls() []CallCount {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	var counts []CallCount
	for i, n := range g.calls.made {
		if n > 0 {
			counts = append(counts, CallCount{callNames[i], n})
		}
	}
	return counts
}

// enter begins every call: it counts it, lets a schedule do some work, and says
// whether the call is to fail before it has done anything. The machine's lock is
// held.
func (g *GPU) enter(c call) error {
	g.calls.made[c]++
	if g.schedule != nil {
		if b, is := g.schedule.(*byTime); is {
			b.called(g, c)
		}
		g.progress()
	}
	if g.calls.lost == nil && len(g.calls.faults) == 0 && !g.exited {
		return nil
	}
	return g.enterSlowly(c)
}

func (g *GPU) enterSlowly(c call) error {
	if g.exited {
		return cudaErrorCudartUnloading.in(c, "process %d has ended", g.pid)
	}
	if g.calls.lost == nil {
		return g.calls.takeFault(c)
	}
	err := *g.calls.lost.(*spec.DriverError)
	err.Call, err.Detail = c.String(), "since an earlier failure"
	return &err
}
