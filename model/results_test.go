package model

import (
	"testing"

	"gaugeblock/spec"
)

// TestCheck: a result is the required one if its error is of the same kind, with the same figures where memory ran out, and
// its address the same.
func TestCheck(t *testing.T) {
	full := func(free uint64) error { return &spec.OutOfMemoryError{Requested: 512, DeviceFree: free} }
	invalid := func(reason string) error { return &spec.InvalidArgumentError{Op: "malloc", Reason: reason} }
	for _, test := range []struct {
		want Result
		got  Outcome
		text string
	}{
		{Result{Ptr: 512}, Outcome{Ptr: 512}, ""},
		{Result{Ptr: 512}, Outcome{Ptr: 1024}, "the address is 0x200, not 0x400"},
		{Result{Err: full(1)}, Outcome{Err: full(1)}, ""},
		{Result{Err: invalid("a")}, Outcome{Err: invalid("b")}, ""},
		{Result{Err: invalid("a")}, Outcome{}, "the error is malloc: a, not none"},
		{Result{}, Outcome{Err: invalid("b")}, "the error is none, not malloc: b"},
	} {
		err := test.want.check(&test.got)
		if text := orNone(err); text != test.text && (err != nil || test.text != "") {
			t.Errorf("%+v, %+v: %q", test.want, test.got, text)
		}
	}
	if err := (Result{Err: full(1)}).check(&Outcome{Err: full(2)}); err == nil {
		t.Error("figures of an error are not compared")
	}
	if err := (Result{Err: full(1)}).check(&Outcome{Err: invalid("a")}); err == nil {
		t.Error("kinds of errors are not compared")
	}
}

// TestOrderOfTouches: by address, then by stream, then those of captures behind the others.
func TestOrderOfTouches(t *testing.T) {
	ordered := []Touch{{Ptr: 1}, {Ptr: 1, Captured: true}, {Ptr: 1, Stream: spec.DeviceStream{Stream: 1}}, {Ptr: 1, Stream: spec.DeviceStream{Stream: 2}}, {Ptr: 1, Stream: spec.DeviceStream{Stream: 2}, Captured: true}, {Ptr: 2}}
	for i, x := range ordered {
		for j, y := range ordered {
			if got := x.Compare(y); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%+v and %+v: %d", x, y, got)
			}
		}
	}
}

// TestGranted: a segment is told between the driver's answer and its registration.
func TestGranted(t *testing.T) {
	for _, test := range []struct {
		c    PendingMalloc
		want spec.Range
	}{
		{PendingMalloc{segmentSize: 512}, spec.Range{}},
		{PendingMalloc{segmentSize: 512, granted: 1024}, spec.Range{Ptr: 1024, Bytes: 512}},
	} {
		if got := test.c.Granted(); got != test.want {
			t.Errorf("%v, not %v", got, test.want)
		}
	}
}
