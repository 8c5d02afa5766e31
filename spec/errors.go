package spec

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrOutOfMemory is what every out-of-memory error of an allocator wraps.
var ErrOutOfMemory = errors.New("out of memory")

// ErrDriverOutOfMemory is what a driver's error wraps when the device has no
// memory left for the call.
var ErrDriverOutOfMemory = errors.New("device out of memory")

// ErrNotSupported is wrapped by errors that say that something legal cannot be
// done by this driver or allocator.
var ErrNotSupported = errors.New("not supported")

// OutOfMemoryError is a request that could not be served, with the memory statistics at
// that time, in bytes.
type OutOfMemoryError struct {
	Device       Device
	Requested    uint64 // what the caller asked for
	SegmentSize  uint64 // of the segment that was not obtained; 0 for MaxRequest and more
	DeviceTotal  uint64
	DeviceFree   uint64
	Limit        uint64 // meaningful when Limited
	Limited      bool
	Allocated    uint64 // allocated by callers, plus PrivatePools
	PrivatePools uint64 // free in private pools, which serve no other requests
	Unallocated  uint64 // reserved and not in Allocated

	// Rejected: by Config.ThrowOnOOM, before anything was released. Then only Device, Requested,
	// SegmentSize, DeviceTotal and Unallocated, which is all that is reserved, are set.
	Rejected bool
}

// Error writes the sizes in the order in which PyTorch's message has them. Where a limit
// that is too small looks large enough when it is rounded, the bytes follow.
func (e *OutOfMemoryError) Error() string {
	if e.SegmentSize == 0 {
		return fmt.Sprintf("out of memory: tried to allocate %s on device %d, more than any device has",
			FormatSize(e.Requested), e.Device)
	}
	if e.Rejected {
		return fmt.Sprintf("out of memory: a segment of %s on device %d was rejected (throw_on_cudamalloc_oom), since %s is reserved of a total capacity of %s",
			FormatSize(e.SegmentSize), e.Device, FormatSize(e.Unallocated), FormatSize(e.DeviceTotal))
	}
	msg := fmt.Sprintf("out of memory: tried to allocate %s on device %d, which has a total capacity of %s of which %s is free",
		FormatSize(e.SegmentSize), e.Device, FormatSize(e.DeviceTotal), FormatSize(e.DeviceFree))
	if e.Limited {
		msg += fmt.Sprintf("; %s allowed", FormatSize(e.Limit))
	}
	msg += fmt.Sprintf("; %s is allocated", FormatSize(e.Allocated))
	if e.PrivatePools > 0 {
		msg += fmt.Sprintf(" (%s of it free in private pools)", FormatSize(e.PrivatePools))
	}
	return msg + fmt.Sprintf(", %s is reserved but unallocated", FormatSize(e.Unallocated)) + e.shortBy()
}

// shortBy says how many bytes the limit lacks, if rounding hides that there are any.
func (e *OutOfMemoryError) shortBy() string {
	needed := e.Allocated + e.Unallocated + e.SegmentSize // all that would be reserved
	if !e.Limited || needed <= e.Limit || FormatSize(needed) != FormatSize(e.Limit) {
		return ""
	}
	unit := "bytes"
	if needed-e.Limit == 1 {
		unit = "byte"
	}
	return fmt.Sprintf("; the limit is %d %s short: %d bytes are allowed, and %d would be reserved", needed-e.Limit, unit, e.Limit, needed)
}

// Unwrap makes errors.Is(err, ErrOutOfMemory) hold.
func (e *OutOfMemoryError) Unwrap() error { return ErrOutOfMemory }

// FormatSize writes bytes the way PyTorch's messages do: the largest unit that
// gives more than one, with two decimals ("20.00 MiB", "512 bytes", "1024.00 KiB" for a MiB).
func FormatSize(bytes uint64) string {
	unit, name := unitOf(bytes)
	if unit == 1 {
		return strconv.FormatUint(bytes, 10) + name
	}
	return strconv.FormatFloat(float64(bytes)/float64(unit), 'f', 2, 64) + name
}

// FormatSizeUp is FormatSize rounded up, for a size that is enough: what is written is enough as well.
func FormatSizeUp(bytes uint64) string {
	unit, _ := unitOf(bytes)
	if unit == 1 {
		return FormatSize(bytes)
	}
	const hundredths = 100
	whole, rest := bytes/unit, bytes%unit
	return FormatSize(whole*unit + (rest*hundredths+unit-1)/unit*unit/hundredths)
}

// unitOf is the unit in which a size is written.
func unitOf(bytes uint64) (unit uint64, name string) {
	switch {
	case bytes <= KiB:
		return 1, " bytes"
	case bytes <= MiB:
		return KiB, " KiB"
	case bytes <= GiB:
		return MiB, " MiB"
	}
	return GiB, " GiB"
}

// InvalidPointerError is a pointer that is not allocated: never returned by Malloc,
// already freed, or inside a block.
type InvalidPointerError struct {
	Op  string // what was tried
	Ptr Ptr
}

func (e *InvalidPointerError) Error() string {
	return fmt.Sprintf("%s: %v is not a pointer that is allocated", e.Op, e.Ptr)
}

// InvalidArgumentError is a call that makes no sense whatever the state.
type InvalidArgumentError struct {
	Op     string
	Reason string
}

func (e *InvalidArgumentError) Error() string { return e.Op + ": " + e.Reason }

// InvalidStateError is a call that makes no sense in the present state: ending
// what was not begun, restoring what is gone.
type InvalidStateError struct {
	Op     string
	Reason string
}

func (e *InvalidStateError) Error() string { return e.Op + ": " + e.Reason }

// CaptureInvalidatedError is a call that depends on whether the caller's current stream is captured, while that
// stream's capture is invalidated (CaptureInvalidated) and marked (CaptureMarker). Malloc, RecordStream, a Free of
// memory with uses, EmptyCache, EmptyPool and Checkpoint end so until the capture is ended, and change nothing.
// Where any routing counts as a capture (upstream.CapturesByRouting: until 2.12) none does.
type CaptureInvalidatedError struct {
	Device Device
	Stream Stream
}

func (e *CaptureInvalidatedError) Error() string { return e.Unwrap().Error() }

// Unwrap says that it is an InvalidStateError.
func (e *CaptureInvalidatedError) Unwrap() error {
	return &InvalidStateError{
		Op: "capture", Reason: fmt.Sprintf("the capture of the current stream, %v, was invalidated", e.Stream),
	}
}

// NotSupportedError is a legal call that this driver or allocator cannot serve.
type NotSupportedError struct {
	Op     string
	Reason string
}

func (e *NotSupportedError) Error() string { return e.Op + ": not supported: " + e.Reason }

// Unwrap makes errors.Is(err, ErrNotSupported) hold.
func (e *NotSupportedError) Unwrap() error { return ErrNotSupported }

// DriverError is a driver call that failed.
type DriverError struct {
	Call   string // the call in the words of Driver: "Malloc", "MapPage"
	Name   string // the driver's name of the error: "cudaErrorMemoryAllocation"
	Code   int    // the driver's number of it
	Detail string // what the driver can say about the cause, or empty
	Kind   error  // ErrDriverOutOfMemory, ErrNotSupported, or nil
}

func (e *DriverError) Error() string {
	msg := fmt.Sprintf("driver: %s: %s (%d)", e.Call, e.Name, e.Code)
	if e.Detail != "" {
		msg += ": " + e.Detail
	}
	return msg
}

// Unwrap gives the kind.
func (e *DriverError) Unwrap() error { return e.Kind }
