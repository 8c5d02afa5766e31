package cudaimpl_test

import (
	"errors"
	"testing"

	"gaugeblock/cudaimpl"
	"gaugeblock/spec"
)

// TestOpen: a machine has a GPU to work with, or is told why not. tests/gpu has the
// rest of the tests of this package, since they are the same for the fake device.
func TestOpen(t *testing.T) {
	gpu, err := cudaimpl.Open()
	var unavailable *cudaimpl.UnavailableError
	switch {
	case err == nil:
		if gpu.DeviceCount() < 1 {
			t.Error("a GPU without devices")
		}
		if err := gpu.Close(); err != nil {
			t.Error(err)
		}
	case !errors.As(err, &unavailable) || !errors.Is(err, spec.ErrNotSupported) || unavailable.Reason == "":
		t.Errorf("the error is %v, which is no *UnavailableError that wraps ErrNotSupported and gives a reason", err)
	default:
		t.Log(err)
	}
}
