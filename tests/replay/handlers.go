package replay

import (
	"errors"

	"gaugeblock/spec/trace"
)

// A handler performs one kind of operation. Its error is the allocator's or the
// device's answer, which is compared, except for three: errors that wrap
// spec.ErrNotSupported say that the trace cannot be replayed on this allocator,
// a *spec.TraceError that the operation makes no sense, and errNeverGiven that
// there was nothing to do.
type handler func(m *machine, op *trace.Op) error

// errNeverGiven says that the operation is about something that an earlier
// operation should have made, and failed to, or that a callback has freed. In a
// trace without expectations that can happen, and what is not there needs no
// looking after.
var errNeverGiven = errors.New("skipped, for what it is about was never made, or is gone")

// handlers says how each kind is performed. A kind that is not here is not
// supported.
var handlers = map[trace.OpKind]handler{
	trace.OpMalloc:             (*machine).malloc,
	trace.OpFree:               (*machine).free,
	trace.OpRecordStream:       (*machine).recordStream,
	trace.OpEmptyCache:         (*machine).emptyCache,
	trace.OpSetMemoryFraction:  (*machine).setMemoryFraction,
	trace.OpConfigure:          (*machine).configure,
	trace.OpResetPeak:          (*machine).resetPeak,
	trace.OpResetAccumulated:   (*machine).resetAccumulated,
	trace.OpEnable:             (*machine).enable,
	trace.OpNeedMemoryCallback: (*machine).needMemoryCallback,
	trace.OpPeerAccess:         (*machine).peerAccess,
	trace.OpPoolCreate:         (*machine).poolCreate,
	trace.OpPoolBegin:          (*machine).poolBegin,
	trace.OpPoolEnd:            (*machine).poolEnd,
	trace.OpPoolRelease:        (*machine).poolRelease,
	trace.OpPoolDelete:         (*machine).poolDelete,
	trace.OpCheckpoint:         (*machine).checkpointPool,
	trace.OpRestore:            (*machine).restorePool,
	trace.OpShare:              (*machine).share,
	trace.OpOpenShared:         (*machine).openShared,
	trace.OpCloseShared:        (*machine).closeShared,

	trace.OpTreeCall:            (*machine).treeCall,
	trace.OpTreeDrop:            (*machine).treeDrop,
	trace.OpTreeMarkStep:        (*machine).treeMarkStep,
	trace.OpTreeNewGeneration:   (*machine).treeNewGeneration,
	trace.OpTreeMoveStaticInput: (*machine).treeMoveStatic,

	trace.OpBusy:         (*machine).busy,
	trace.OpDrain:        (*machine).drain,
	trace.OpKernel:       (*machine).kernel,
	trace.OpCopy:         (*machine).copy,
	trace.OpWaitStream:   (*machine).waitStream,
	trace.OpRecordEvent:  (*machine).recordEvent,
	trace.OpWaitEvent:    (*machine).waitEvent,
	trace.OpSynchronize:  (*machine).synchronize,
	trace.OpCaptureBegin: (*machine).captureBegin,
	trace.OpCaptureEnd:   (*machine).captureEnd,
	trace.OpGraphLaunch:  (*machine).graphLaunch,
	trace.OpGraphDestroy: (*machine).graphDestroy,
	trace.OpDeviceFree:   (*machine).deviceFree,
	trace.OpFault:        (*machine).fault,
}
