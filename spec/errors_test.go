package spec_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// TestFormatSize: like PyTorch, a size of exactly one unit is still written in the
// smaller one.
func TestFormatSize(t *testing.T) {
	for _, test := range []struct {
		bytes uint64
		want  string
	}{
		{0, "0 bytes"},
		{512, "512 bytes"},
		{1024, "1024 bytes"},
		{1025, "1.00 KiB"},
		{1536, "1.50 KiB"},
		{spec.MiB, "1024.00 KiB"},
		{spec.MiB + 1, "1.00 MiB"},
		{20 * spec.MiB, "20.00 MiB"},
		{182820000, "174.35 MiB"},
		{spec.GiB, "1024.00 MiB"},
		{spec.GiB + 1, "1.00 GiB"},
		{150109880320, "139.80 GiB"},
		{math.MaxUint64, "17179869184.00 GiB"},
	} {
		if got := spec.FormatSize(test.bytes); got != test.want {
			t.Errorf("%d: %q, want %q", test.bytes, got, test.want)
		}
	}
}

func TestErrorMessages(t *testing.T) {
	outOfMemory := spec.OutOfMemoryError{
		Device: 1, Requested: 5 * spec.MiB, SegmentSize: 20 * spec.MiB,
		DeviceTotal: 80 * spec.GiB, DeviceFree: 3 * spec.MiB,
		Allocated: 40 * spec.GiB, Unallocated: 2 * spec.GiB,
	}
	limited := outOfMemory
	limited.Limited, limited.Limit = true, 42*spec.GiB
	limited.PrivatePools = 7 * spec.MiB
	oneByte := outOfMemory
	oneByte.PrivatePools = 1
	limitedToNothing := outOfMemory
	limitedToNothing.Limited = true

	for _, test := range []struct {
		err  error
		want string
	}{
		{&outOfMemory, "out of memory: tried to allocate 20.00 MiB on device 1, which has a total capacity of 80.00 GiB of which 3.00 MiB is free; 40.00 GiB is allocated, 2.00 GiB is reserved but unallocated"},
		{&limited, "out of memory: tried to allocate 20.00 MiB on device 1, which has a total capacity of 80.00 GiB of which 3.00 MiB is free; 42.00 GiB allowed; 40.00 GiB is allocated (7.00 MiB of it free in private pools), 2.00 GiB is reserved but unallocated"},
		{&oneByte, "out of memory: tried to allocate 20.00 MiB on device 1, which has a total capacity of 80.00 GiB of which 3.00 MiB is free; 40.00 GiB is allocated (1 bytes of it free in private pools), 2.00 GiB is reserved but unallocated"},
		{&limitedToNothing, "out of memory: tried to allocate 20.00 MiB on device 1, which has a total capacity of 80.00 GiB of which 3.00 MiB is free; 0 bytes allowed; 40.00 GiB is allocated, 2.00 GiB is reserved but unallocated"},
		{&spec.OutOfMemoryError{Device: 2, Requested: 2 * spec.EiB}, "out of memory: tried to allocate 2147483648.00 GiB on device 2, more than any device has"},
		{&spec.InvalidPointerError{Op: "Free", Ptr: 0x7f00}, "Free: 0x7f00 is not a pointer that is allocated"},
		{&spec.InvalidArgumentError{Op: "SetMemoryFraction", Reason: "2 is not in [0, 1]"}, "SetMemoryFraction: 2 is not in [0, 1]"},
		{&spec.InvalidStateError{Op: "EndPool", Reason: "pool (0, 1) was not begun"}, "EndPool: pool (0, 1) was not begun"},
		{&spec.CaptureInvalidatedError{Device: 1, Stream: 9}, "capture: the capture of the current stream, 0x9, was invalidated"},
		{&spec.NotSupportedError{Op: "MapPage", Reason: "no virtual memory"}, "MapPage: not supported: no virtual memory"},
		{&spec.DriverError{Call: "Malloc", Name: "cudaErrorMemoryAllocation", Code: 2}, "driver: Malloc: cudaErrorMemoryAllocation (2)"},
		{&spec.DriverError{Call: "Free", Name: "cudaErrorInvalidValue", Code: 1, Detail: "never allocated"}, "driver: Free: cudaErrorInvalidValue (1): never allocated"},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("%T:\n got %s\nwant %s", test.err, got, test.want)
		}
	}
}

// TestErrorKinds: errors are told apart with errors.Is, however deep they are
// wrapped; a device that is full and a request that cannot be served are not the
// same.
func TestErrorKinds(t *testing.T) {
	kinds := []error{spec.ErrOutOfMemory, spec.ErrDriverOutOfMemory, spec.ErrNotSupported}
	for _, test := range []struct {
		err  error
		want error // nil: none of them
	}{
		{&spec.OutOfMemoryError{}, spec.ErrOutOfMemory},
		{&spec.DriverError{Call: "Malloc", Kind: spec.ErrDriverOutOfMemory}, spec.ErrDriverOutOfMemory},
		{&spec.DriverError{Call: "MapPage", Kind: spec.ErrNotSupported}, spec.ErrNotSupported},
		{&spec.DriverError{Call: "Free"}, nil},
		{&spec.NotSupportedError{}, spec.ErrNotSupported},
		{&spec.InvalidPointerError{}, nil},
		{&spec.InvalidArgumentError{}, nil},
		{&spec.InvalidStateError{}, nil},
		{&settings.Error{}, nil},
	} {
		wrapped := fmt.Errorf("line 3: %w", fmt.Errorf("malloc: %w", test.err))
		for _, kind := range kinds {
			if got, want := errors.Is(wrapped, kind), kind == test.want; got != want {
				t.Errorf("%T is %q: %v, want %v", test.err, kind, got, want)
			}
		}
	}
}

// TestInvalidatedCapture: the error is an InvalidStateError as well.
func TestInvalidatedCapture(t *testing.T) {
	var state *spec.InvalidStateError
	if !errors.As(&spec.CaptureInvalidatedError{Stream: 9}, &state) || state.Op != "capture" {
		t.Errorf("%+v", state)
	}
}

// TestLimitOneByteShort: the bytes are said where the rounded sizes are equal.
func TestLimitOneByteShort(t *testing.T) {
	e := spec.OutOfMemoryError{SegmentSize: 600 * spec.MiB, Limited: true, Limit: 656*spec.MiB - 1, Allocated: 50 * spec.MiB, Unallocated: 6 * spec.MiB}
	const short = "; the limit is 1 byte short: 687865855 bytes are allowed, and 687865856 would be reserved"
	if !strings.HasSuffix(e.Error(), "unallocated"+short) {
		t.Error(e.Error())
	}
	if e.Limit++; strings.Contains(e.Error(), "short") {
		t.Errorf("the limit is just enough: %v", e.Error())
	}
	if e.Limit -= 2 * spec.MiB; strings.Contains(e.Error(), "short") {
		t.Error(e.Error())
	}
	if e.Limited, e.Limit = false, 0; strings.Contains(e.Error(), "short") {
		t.Error(e.Error())
	}
}

// TestFormatSizeUp: a size that is said to be enough is enough as it is written.
func TestFormatSizeUp(t *testing.T) {
	for bytes, want := range map[uint64]string{
		1000: "1000 bytes", spec.MiB: "1024.00 KiB", spec.MiB + 1: "1.01 MiB", 20 * spec.MiB: "20.00 MiB", 4408 * spec.MiB: "4.31 GiB", spec.GiB: "1024.00 MiB", 80 * spec.GiB: "80.00 GiB",
	} {
		if got := spec.FormatSizeUp(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
	for bytes := uint64(1); bytes < 1<<40; bytes += bytes/7 + 1 {
		var n float64
		var unit string
		if _, err := fmt.Sscan(spec.FormatSizeUp(bytes), &n, &unit); err != nil {
			t.Fatal(err)
		}
		size := n * map[string]float64{"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
		if size < float64(bytes) || size > float64(bytes)*1.01 {
			t.Errorf("%d bytes: %s", bytes, spec.FormatSizeUp(bytes))
		}
	}
}
