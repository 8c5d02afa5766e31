package spec

import "slices"

// FaultSpec makes the nth call (from 1) of a kind, counted from now on, fail with an
// error of the given name. Traces and fakegpu take the same ones.
type FaultSpec struct {
	Call  string // one of DriverCalls: "Malloc", "MapPage"
	Nth   int
	Error string // one of FaultErrors
}

// What a call that is made to fail can fail with.
const (
	FaultOutOfMemory  = "out_of_memory"
	FaultNotSupported = "not_supported"
	FaultUnknown      = "unknown"
)

var faultErrors = []string{FaultOutOfMemory, FaultNotSupported, FaultUnknown}

// FaultErrors lists the errors that a fault can name.
func FaultErrors() []string { return slices.Clone(faultErrors) }

// driverCalls are the methods that return an error, of Driver, VirtualMemory,
// MemorySharing and PeerAccess.
var driverCalls = []string{
	"Properties", "Malloc", "Free", "MemInfo",
	"CreateEvent", "RecordEvent", "QueryEvent", "SynchronizeEvent", "DestroyEvent",
	"SynchronizeStream", "SynchronizeDevice", "CaptureStatus", "NodeDependencies",
	"ReserveAddress", "FreeAddress", "CreatePage", "ReleasePage", "MapPage", "SetAccess", "UnmapPage",
	"ShareMemory", "OpenMemory", "CloseMemory", "ExportPage", "ImportPage",
	"CanAccessPeer", "EnablePeerAccess",
}

// DriverCalls lists the calls that a fault can name: those that an allocator makes of
// the driver and that can fail.
func DriverCalls() []string { return slices.Clone(driverCalls) }
