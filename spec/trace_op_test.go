package spec_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"gaugeblock/spec"

	"github.com/google/go-cmp/cmp"
)

// TestTraceDriverCalls: every call of a driver that can fail can be made to fail.
func TestTraceDriverCalls(t *testing.T) {
	var want []string
	for _, side := range []reflect.Type{
		reflect.TypeFor[spec.Driver](), reflect.TypeFor[spec.VirtualMemory](),
		reflect.TypeFor[spec.MemorySharing](), reflect.TypeFor[spec.PeerAccess](),
	} {
		for i := range side.NumMethod() {
			m := side.Method(i)
			if n := m.Type.NumOut(); n > 0 && m.Type.Out(n-1) == reflect.TypeFor[error]() {
				want = append(want, m.Name)
			}
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(spec.TraceDriverCalls()))); diff != "" {
		t.Errorf("methods (-) and calls of faults (+):\n%s", diff)
	}
}

func TestErrorName(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{&spec.OutOfMemoryError{}, spec.ErrorOOM},
		{fmt.Errorf("malloc: %w", &spec.OutOfMemoryError{}), spec.ErrorOOM},
		{&spec.InvalidPointerError{}, spec.ErrorInvalidPointer},
		{&spec.InvalidArgumentError{}, spec.ErrorInvalidArgument},
		{&spec.InvalidStateError{}, spec.ErrorInvalidState},
		{&spec.NotSupportedError{}, spec.ErrorNotSupported},
		{&spec.DriverError{Kind: spec.ErrNotSupported}, spec.ErrorNotSupported},
		{&spec.DriverError{Kind: spec.ErrDriverOutOfMemory}, spec.ErrorDriver},
		{&spec.DriverError{}, spec.ErrorDriver},
		{errors.New("bad luck"), spec.ErrorOther},
	} {
		if got := spec.ErrorName(c.err); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}
