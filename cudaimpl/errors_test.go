package cudaimpl

import (
	"errors"
	"strings"
	"testing"

	"gaugeblock/spec"
)

// TestErrors: the contract's error says which method and which function of the driver
// failed, with CUDA's name and number, and is of the kind that a caller asks about.
func TestErrors(t *testing.T) {
	for _, test := range []struct {
		number int
		kind   error // nil: none
	}{
		{1, nil},
		{2, spec.ErrDriverOutOfMemory},
		{217, spec.ErrNotSupported},
		{700, ErrContextLost},
		{719, ErrContextLost},
		{800, spec.ErrNotSupported},
		{801, spec.ErrNotSupported},
		{900, nil},
	} {
		err := newError("Malloc", "cuMemAlloc", test.number, "CUDA_ERROR_X", "what it means")
		for _, kind := range []error{spec.ErrDriverOutOfMemory, spec.ErrNotSupported, ErrContextLost} {
			if errors.Is(err, kind) != (kind == test.kind) {
				t.Errorf("error %d: is it %q? %v", test.number, kind, errors.Is(err, kind))
			}
		}
		var driver *spec.DriverError
		if !errors.As(err, &driver) || driver.Code != test.number || driver.Call != "Malloc" {
			t.Fatalf("error %d is %#v", test.number, err)
		}
		for _, part := range []string{"Malloc", "cuMemAlloc", "CUDA_ERROR_X", "what it means"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("error %d: %q does not say %q", test.number, err, part)
			}
		}
		if strings.Contains(err.Error(), "context is lost") != (test.kind == ErrContextLost) {
			t.Errorf("error %d: %q", test.number, err)
		}
	}
}
