package history

import (
	"maps"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// TestExpandableIsRead: what segments of fixed size and mapped pages tell of expandable_segments, which the
// record says only at its end.
func TestExpandableIsRead(t *testing.T) {
	const fixed, mapped = spec.ActionSegmentAlloc, spec.ActionSegmentMap
	own := spec.PoolID{User: 3}
	for _, test := range []struct {
		what    string
		entries []spec.Action
		pools   map[int]spec.PoolID // of entries
		ends    bool                // with expandable segments
		starts  bool
		changes map[int]bool
		toldOf  int
		ownPool bool
	}{
		{what: "no segment, off"},
		{what: "no segment, on", ends: true, starts: true},
		{what: "off", entries: []spec.Action{fixed, spec.ActionAlloc, fixed}},
		{what: "on", entries: []spec.Action{mapped, spec.ActionAlloc, mapped}, ends: true, starts: true},
		{what: "turned on", entries: []spec.Action{fixed, spec.ActionAlloc, mapped, mapped}, ends: true, changes: map[int]bool{2: true}},
		{what: "turned off", entries: []spec.Action{mapped, fixed}, starts: true, changes: map[int]bool{1: false}},
		{what: "turned off, and on again", entries: []spec.Action{mapped, fixed, mapped}, ends: true, starts: true, changes: map[int]bool{1: false, 2: true}},
		{what: "turned off after the last segment", entries: []spec.Action{mapped, mapped}, starts: true, toldOf: 1},
		{what: "turned on after the last segment", entries: []spec.Action{fixed}, ends: true, toldOf: 1},
		{what: "a pool of its own", entries: []spec.Action{mapped, fixed, mapped}, pools: map[int]spec.PoolID{1: own}, ends: true, starts: true, ownPool: true},
		{what: "a pool, and all is off", entries: []spec.Action{fixed, fixed}, pools: map[int]spec.PoolID{1: own}},
	} {
		w := &Workload{}
		w.Settings.Config.ExpandableSegments = test.ends
		for _, action := range test.entries {
			w.Trace = append(w.Trace, snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: action, Size: 2 * spec.MiB}})
		}
		r := &snapshotRebuilder{Workload: w, pools: test.pools}
		changes := r.inferExpandable()
		if !maps.Equal(changes, test.changes) || w.StartsExpandable != test.starts || w.Unrecorded.SettingsChanges != test.toldOf || w.OwnMemory[own] != test.ownPool {
			t.Errorf("%s: changes %v, starts with them %v, %d later changes, own memory %v", test.what, changes, w.StartsExpandable, w.Unrecorded.SettingsChanges, w.OwnMemory)
		}
	}
}
