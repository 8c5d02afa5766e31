package trace_test

import (
	"errors"
	"fmt"
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

func TestErrorName(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{&spec.OutOfMemoryError{}, trace.ErrorOOM},
		{fmt.Errorf("malloc: %w", &spec.OutOfMemoryError{}), trace.ErrorOOM},
		{&spec.InvalidPointerError{}, trace.ErrorInvalidPointer},
		{&spec.InvalidArgumentError{}, trace.ErrorInvalidArgument},
		{&spec.InvalidStateError{}, trace.ErrorInvalidState},
		{&spec.NotSupportedError{}, trace.ErrorNotSupported},
		{&spec.DriverError{Kind: spec.ErrNotSupported}, trace.ErrorNotSupported},
		{&spec.DriverError{Kind: spec.ErrDriverOutOfMemory}, trace.ErrorDriver},
		{&spec.DriverError{}, trace.ErrorDriver},
		{errors.New("bad luck"), trace.ErrorOther},
	} {
		if got := trace.ErrorName(c.err); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}
