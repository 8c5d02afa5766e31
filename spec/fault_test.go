package spec_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
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
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(spec.DriverCalls()))); diff != "" {
		t.Errorf("methods (-) and calls of faults (+):\n%s", diff)
	}
}
