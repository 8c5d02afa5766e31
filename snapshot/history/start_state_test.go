package history

import (
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// TestUndoneFrees: which entries contradict the state after them, by what is at their address then.
func TestUndoneFrees(t *testing.T) {
	nothing, allocated, pending := []activeBlock(nil), []activeBlock{{size: 512}}, []activeBlock{{size: 512, pendingFree: true}}
	for _, test := range []struct {
		what       string
		action     spec.Action
		after      []activeBlock
		skipped    []spec.Action
		consistent bool
	}{
		{"allocated", spec.ActionAlloc, allocated, nil, true},
		{"allocated, and it is not there", spec.ActionAlloc, nothing, nil, false},
		{"allocated, and it has been freed", spec.ActionAlloc, pending, nil, false},
		{"free completed", spec.ActionFreeCompleted, nothing, nil, true},
		{"free completed, and it is there", spec.ActionFreeCompleted, allocated, nil, false},
		{"free completed, and the free is pending", spec.ActionFreeCompleted, pending, nil, false},
		{"free requested", spec.ActionFreeRequested, pending, nil, true},
		{"free requested, and it is allocated", spec.ActionFreeRequested, allocated, nil, false},
		{"free requested, and it is not there", spec.ActionFreeRequested, nothing, nil, false},
		{"free requested, without completions", spec.ActionFreeRequested, nothing, []spec.Action{spec.ActionFreeCompleted}, true},
		{"free requested, without completions, and it is allocated", spec.ActionFreeRequested, allocated, []spec.Action{spec.ActionFreeCompleted}, false},
	} {
		s := &allocatorState{skipped: test.skipped}
		for _, b := range test.after {
			s.active.Set(0x1000, b)
		}
		consistent := s.undo(&snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: test.action, Addr: 0x1000, Size: 512}})
		if consistent != test.consistent {
			t.Errorf("%s: consistent is %v, not %v", test.what, consistent, test.consistent)
		}
	}
}
