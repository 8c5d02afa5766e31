package trace

import "slices"

// FaultSpec makes the nth call (from 1) of a kind, counted from this operation
// on, fail with an error of the given name.
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

// Of a call that no driver has, none would ever fail, and a misspelt one would make a
// test that tests nothing: the reader and fakegpu refuse both.
var faultTable = newJSONTable("a fault", []jsonMember[FaultSpec]{
	wordMember("call", func(f *FaultSpec) *string { return &f.Call }, driverCalls...),
	wholeMember("nth", func(f *FaultSpec) *int { return &f.Nth }),
	wordMember("error", func(f *FaultSpec) *string { return &f.Error }, faultErrors...),
})

func readFault(c *jsonCursor) (f FaultSpec) {
	faultTable.readWhole(c, &f, faultTable.all())
	if f.Nth == 0 {
		c.fail("calls are counted from 1")
	}
	return f
}

func appendFault(b []byte, f FaultSpec) []byte { return faultTable.write(b, &f, faultTable.all(), 0) }
