package spec_test

import (
	"errors"
	"fmt"
	"testing"

	"gaugeblock/spec"
)

// TestActionNames: each action has a name, which is read as the action, and no other text is.
func TestActionNames(t *testing.T) {
	names := spec.ActionNames()
	for i, name := range names {
		if a, known := spec.ParseAction(name); !known || int(a) != i || a.String() != name {
			t.Errorf("%q is read as %v (known: %v)", name, a, known)
		}
	}
	if a, known := spec.ParseAction("segment"); known {
		t.Errorf("a text that is no name is read as %v", a)
	}
	if name := spec.Action(len(names)).String(); name != "unknown" {
		t.Errorf("what is no action is written %q", name)
	}
}

// TestPointersInText: %v and %s write a pointer in hexadecimal, other verbs write the number.
func TestPointersInText(t *testing.T) {
	if got, want := fmt.Sprintf("%v %s %d %x %#x", spec.Ptr(255), spec.Ptr(255), spec.Ptr(255), spec.Ptr(255), spec.Ptr(255)), "0xff 0xff 255 ff 0xff"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// captureDriver has one answer for each stream.
type captureDriver struct {
	spec.Driver
	streams map[spec.Stream]spec.CaptureInfo
}

func (d captureDriver) CaptureStatus(_ spec.Device, s spec.Stream) (spec.CaptureInfo, error) {
	info, known := d.streams[s]
	if !known {
		return spec.CaptureInfo{Status: spec.CaptureActive, ID: 7}, errors.New("there is no such stream")
	}
	return info, nil
}

// TestForCapture: the requests for streams of a capture are accepted, and no others.
func TestForCapture(t *testing.T) {
	accepts := spec.ForCapture(captureDriver{streams: map[spec.Stream]spec.CaptureInfo{
		1: {Status: spec.CaptureActive, ID: 7}, 2: {Status: spec.CaptureActive, ID: 8}, 3: {Status: spec.CaptureNone, ID: 7}, 4: {Status: spec.CaptureInvalidated, ID: 7},
	}}, 7)
	for stream, want := range map[spec.Stream]bool{1: true, 2: false, 3: false, 4: true, 5: false} {
		if got := accepts(spec.Request{Stream: stream}); got != want {
			t.Errorf("a request for stream %d is accepted: %v", stream, got)
		}
	}
}
