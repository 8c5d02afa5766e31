package replay

import (
	"errors"

	"gaugeblock/spec"
)

// A handler performs one kind of operation. Its error is the allocator's or the
// device's answer, which is compared, except for three: errors that wrap
// spec.ErrNotSupported say that the trace cannot be replayed on this allocator,
// a *spec.TraceError that the operation makes no sense, and errNeverGiven that
// there was nothing to do.
type handler func(m *machine, op *spec.Op) error

// errNeverGiven says that the operation is about something that an earlier
// operation should have made, and failed to, or that a callback has freed. In a
// trace without expectations that can happen, and what is not there needs no
// looking after.
var errNeverGiven = errors.New("skipped, for what it is about was never made, or is gone")

// handlers says how each kind is performed. A kind that is not here is not
// supported.
var handlers = map[spec.OpKind]handler{
	spec.OpMalloc:             (*machine).malloc,
	spec.OpFree:               (*machine).free,
	spec.OpRecordStream:       (*machine).recordStream,
	spec.OpEmptyCache:         (*machine).emptyCache,
	spec.OpSetMemoryFraction:  (*machine).setMemoryFraction,
	spec.OpConfigure:          (*machine).configure,
	spec.OpResetPeak:          (*machine).resetPeak,
	spec.OpResetAccumulated:   (*machine).resetAccumulated,
	spec.OpEnable:             (*machine).enable,
	spec.OpNeedMemoryCallback: (*machine).needMemoryCallback,
	spec.OpPeerAccess:         (*machine).peerAccess,
	spec.OpPoolCreate:         (*machine).poolCreate,
	spec.OpPoolBegin:          (*machine).poolBegin,
	spec.OpPoolEnd:            (*machine).poolEnd,
	spec.OpPoolRelease:        (*machine).poolRelease,
	spec.OpPoolDelete:         (*machine).poolDelete,
	spec.OpCheckpoint:         (*machine).checkpointPool,
	spec.OpRestore:            (*machine).restorePool,
	spec.OpShare:              (*machine).share,
	spec.OpOpenShared:         (*machine).openShared,
	spec.OpCloseShared:        (*machine).closeShared,

	spec.OpTreeCall:            (*machine).treeCall,
	spec.OpTreeDrop:            (*machine).treeDrop,
	spec.OpTreeMarkStep:        (*machine).treeMarkStep,
	spec.OpTreeNewGeneration:   (*machine).treeNewGeneration,
	spec.OpTreeMoveStaticInput: (*machine).treeMoveStatic,

	spec.OpBusy:         (*machine).busy,
	spec.OpDrain:        (*machine).drain,
	spec.OpKernel:       (*machine).kernel,
	spec.OpCopy:         (*machine).copy,
	spec.OpWaitStream:   (*machine).waitStream,
	spec.OpRecordEvent:  (*machine).recordEvent,
	spec.OpWaitEvent:    (*machine).waitEvent,
	spec.OpSynchronize:  (*machine).synchronize,
	spec.OpCaptureBegin: (*machine).captureBegin,
	spec.OpCaptureEnd:   (*machine).captureEnd,
	spec.OpGraphLaunch:  (*machine).graphLaunch,
	spec.OpGraphDestroy: (*machine).graphDestroy,
	spec.OpDeviceFree:   (*machine).deviceFree,
	spec.OpFault:        (*machine).fault,
}
