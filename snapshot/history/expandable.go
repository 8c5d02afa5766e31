package history

import "gaugeblock/spec"

// What a record shows of expandable_segments. A segment of fixed size while it is on, or
// pages that are mapped while it is off, tells that the program has set it at run time, or
// that the segment is one of a pool with an allocator of its own, which has no others.

// inferExpandable returns the entries before which the program turned expandable_segments
// on or off. It finds the pools that have an allocator of their own, too.
func (r *snapshotRebuilder) inferExpandable() map[int]bool {
	r.OwnMemory = map[spec.PoolID]bool{}
	poolOf := func(i int) spec.PoolID {
		if c := r.Trace[i].Context; c != nil && c.PoolKnown {
			return c.Pool
		}
		return r.pools[i]
	}
	for i := range r.InitialSegments {
		if s := &r.InitialSegments[i]; !s.Expandable && !s.Pool.IsDefault() && r.Settings.Config.ExpandableSegments {
			r.OwnMemory[s.Pool] = true
		}
	}
	on, known := r.Settings.Config.ExpandableSegments, false
	changes := map[int]bool{}
	for i := range r.Trace {
		e := &r.Trace[i]
		if e.Action != spec.ActionSegmentAlloc && e.Action != spec.ActionSegmentMap {
			continue
		}
		now, pool := e.Action == spec.ActionSegmentMap, poolOf(i)
		switch {
		case !pool.IsDefault() && (r.OwnMemory[pool] || !now && on):
			r.OwnMemory[pool] = true
			continue
		case !known:
			r.StartsExpandable = now
		case now != on:
			changes[i] = now
		}
		on, known = now, true
	}
	if !known {
		r.StartsExpandable = r.Settings.Config.ExpandableSegments
	}
	if on != r.Settings.Config.ExpandableSegments { // after the last segment
		r.Unrecorded.SettingsChanges++
	}
	return changes
}
