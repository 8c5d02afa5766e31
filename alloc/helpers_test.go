package alloc_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

const mib = 1 << 20

// newAllocator makes an allocator of the given settings.
func newAllocator(t *testing.T, driver spec.Driver, settings string) *alloc.Allocator {
	t.Helper()
	a, err := alloc.New(driver, alloc.Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// mustMalloc is a request on the default stream that must succeed.
func mustMalloc(t *testing.T, a *alloc.Allocator, dev spec.Device, bytes uint64) spec.Ptr {
	t.Helper()
	return mustMallocOn(t, a, dev, 0, bytes)
}

func mustMallocOn(t *testing.T, a *alloc.Allocator, dev spec.Device, stream spec.Stream, bytes uint64) spec.Ptr {
	t.Helper()
	p, err := a.Malloc(spec.Request{Device: dev, Stream: stream, Bytes: bytes})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// must expects no error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newStream makes a stream.
func newStream(t *testing.T, gpu *fakegpu.GPU, dev spec.Device) spec.Stream {
	t.Helper()
	s, err := gpu.CreateStream(dev)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantError expects an error of a type whose text contains some words.
func wantError[E error](t *testing.T, err error, words string) {
	t.Helper()
	var e E
	if !errors.As(err, &e) || !strings.Contains(err.Error(), words) {
		t.Errorf("the error is %T, %v; want a %T with %q in it", err, err, e, words)
	}
}

// wantNoLeaks closes an allocator and expects that nothing of it is left in the driver.
func wantNoLeaks(t *testing.T, a *alloc.Allocator, gpu *fakegpu.GPU) {
	t.Helper()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	leaks := slices.DeleteFunc(gpu.Leaks(), func(l string) bool { return strings.HasPrefix(l, "stream ") })
	if len(leaks) > 0 {
		t.Errorf("leaks:\n%s", strings.Join(leaks, "\n"))
	}
}

// current is the current value of a statistic.
func current(t *testing.T, a *alloc.Allocator, dev spec.Device, key string) int64 {
	t.Helper()
	stats, err := a.Stats(dev)
	if err != nil {
		t.Fatal(err)
	}
	value, ok := stats.Map()[key]
	if !ok {
		t.Fatalf("there is no statistic %q", key)
	}
	return value
}
