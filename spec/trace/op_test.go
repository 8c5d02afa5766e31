package trace_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"

	"github.com/google/go-cmp/cmp"
)

// TestDriverCalls: every call of a driver that can fail can be made to fail.
func TestDriverCalls(t *testing.T) {
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
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(trace.DriverCalls()))); diff != "" {
		t.Errorf("methods (-) and calls of faults (+):\n%s", diff)
	}
}

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
