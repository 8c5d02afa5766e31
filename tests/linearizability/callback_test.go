package linearizability

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Free-memory callbacks run during a malloc, while the lock is released. Their frees are
// calls like others, within the malloc's.

// registerCallback registers the setup's callback.
func (x *execution) registerCallback() error {
	if len(x.setup.Callback) == 0 {
		return nil
	}
	observable, able := x.allocator.(spec.Observable)
	if !able {
		return &spec.NotSupportedError{Op: "linearizability", Reason: "the allocator is not a spec.Observable"}
	}
	left := slices.Clone(x.setup.Callback)
	observable.OnNeedMemory(func() bool {
		malloc := x.pendingCall()
		x.pause(InCallback)
		names := x.threadState(malloc.Thread).names
		i := slices.IndexFunc(left, func(name string) bool { _, is := names[name]; return is })
		if i < 0 {
			return false
		}
		name := left[i]
		left = slices.Delete(left, i, i+1)
		x.perform(malloc.Thread, Op{Kind: trace.OpFree, Name: name})
		malloc.Freed = true
		return true
	})
	return nil
}
