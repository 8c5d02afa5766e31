package replay

import (
	"strings"
	"testing"

	"gaugeblock/spec"
)

// TestMessage reads a message that PyTorch wrote, and one by one makes each of
// the numbers of the error differ from it.
func TestMessage(t *testing.T) {
	const message = "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 139.80 GiB of which 130.41 GiB is free. " +
		"Process 464 has 1.36 GiB memory in use. Including non-PyTorch memory, this process has 788.00 MiB memory in use. 200.00 MiB allowed; " +
		"Of the allocated memory 174.35 MiB is allocated by PyTorch, with 512 bytes allocated in private pools (e.g., CUDA Graphs), " +
		"and 23.65 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF"
	exact := spec.OutOfMemoryError{
		Requested:    8050268,
		SegmentSize:  20 * spec.MiB,
		DeviceTotal:  150109880320,
		DeviceFree:   140022382592,
		Limit:        200 * spec.MiB,
		Limited:      true,
		Allocated:    182818304,
		PrivatePools: 512,
		Unallocated:  207618048 - 182818304,
	}
	alter := func(change func(e *spec.OutOfMemoryError)) *spec.OutOfMemoryError {
		e := exact
		change(&e)
		return &e
	}
	for _, c := range []struct {
		what string
		err  *spec.OutOfMemoryError
		want string // what differs
	}{
		{"nothing", &exact, ""},
		{"what the caller asked for", alter(func(e *spec.OutOfMemoryError) { e.Requested = 1 }), ""},
		{"less than is written", alter(func(e *spec.OutOfMemoryError) { e.Allocated++ }), ""},
		{"segment", alter(func(e *spec.OutOfMemoryError) { e.SegmentSize *= 2 }), "tried to allocate: 20.00 MiB, 40.00 MiB"},
		{"total", alter(func(e *spec.OutOfMemoryError) { e.DeviceTotal = 80 * spec.GiB }), "total capacity: 139.80 GiB, 80.00 GiB"},
		{"free", alter(func(e *spec.OutOfMemoryError) { e.DeviceFree = 1024 }), "free: 130.41 GiB, 1024 bytes"},
		{"limit", alter(func(e *spec.OutOfMemoryError) { e.Limit = spec.GiB }), "allowed: 200.00 MiB, 1024.00 MiB"},
		{"no limit", alter(func(e *spec.OutOfMemoryError) { e.Limited = false }), "allowed: 200.00 MiB, none"},
		{"allocated", alter(func(e *spec.OutOfMemoryError) { e.Allocated = 0 }), "allocated: 174.35 MiB, 0 bytes"},
		{"private pools", alter(func(e *spec.OutOfMemoryError) { e.PrivatePools = 0 }), "private pools: 512 bytes, none"},
		{"unallocated", alter(func(e *spec.OutOfMemoryError) { e.Unallocated = 0 }), "reserved but unallocated: 23.65 MiB, 0 bytes"},
		{"a request that no device could hold", alter(func(e *spec.OutOfMemoryError) { e.SegmentSize = 0 }), "tried to allocate: 20.00 MiB, none"},
	} {
		got := ""
		if field, expected, has := CompareMessage(message, c.err); field != "" {
			got = strings.TrimPrefix(field, "message, ") + ": " + expected + ", " + has
		} else if expected != "" || has != "" {
			t.Errorf("%s: nothing differs, and yet %q and %q", c.what, expected, has)
		}
		if got != c.want {
			t.Errorf("%s: %q differs, want %q", c.what, got, c.want)
		}
		shared := c.want
		if c.what == "free" {
			shared = ""
		}
		if d := (tolerance{deviceFree: true}).compareMessage(message, c.err); (d == nil) != (shared == "") {
			t.Errorf("%s, on a shared card: %v", c.what, d)
		}
	}
}

func TestMessageWithoutFigures(t *testing.T) {
	const message = "CUDA out of memory. Tried to allocate more than 1EB memory."
	if !isMessage(message) {
		t.Error("not taken for a message of PyTorch's")
	}
	if d := (tolerance{}).compareMessage(message, &spec.OutOfMemoryError{Requested: spec.EiB}); d != nil {
		t.Error(d)
	}
	if isMessage((&spec.OutOfMemoryError{}).Error()) {
		t.Error("our own words are taken for PyTorch's")
	}
}
