package linearizability

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Callbacks free memory in the middle of a malloc, while the lock is released. The
// frees are calls like any others, within the malloc's.

// registerCallback registers the setup's callback.
func (w *execution) registerCallback() error {
	if len(w.setup.Callback) == 0 {
		return nil
	}
	observable, able := w.allocator.(spec.Observable)
	if !able {
		return &spec.NotSupportedError{Op: "linearizability", Reason: "the allocator is not a spec.Observable"}
	}
	left := slices.Clone(w.setup.Callback)
	observable.OnNeedMemory(func() bool {
		malloc := w.pendingCall()
		w.pause(InCallback)
		names := w.threadState(malloc.Thread).names
		i := slices.IndexFunc(left, func(name string) bool { _, is := names[name]; return is })
		if i < 0 {
			return false
		}
		name := left[i]
		left = slices.Delete(left, i, i+1)
		w.perform(malloc.Thread, Op{Kind: trace.OpFree, Name: name})
		malloc.Freed = true
		return true
	})
	return nil
}
