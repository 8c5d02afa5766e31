package model_test

import (
	"testing"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// TestMisuse: what is not allowed is refused in these words, and changes nothing.
func TestMisuse(t *testing.T) {
	pool, freeable, unknown := spec.PoolID{User: 1}, spec.PoolID{User: 2}, spec.PoolID{User: 3}
	s, _ := newState("").BeginAllocateToPool(pool, 0)
	s = malloc(s, 5*mib, 0x1000000)
	s, _ = s.EndAllocateToPool(pool)
	s, _ = s.BeginAllocateAllToPool(pool)
	s, _ = s.BeginAllocateToPool(freeable, 9)
	s = func() model.State { // memory keeps the pool when nobody uses it
		s, r := s.Malloc(9, 5*mib, model.DriverResults{Segment: 0x9000000})
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		return s
	}()
	s, _ = s.EndAllocateToPool(freeable)
	s, _ = s.ReleasePool(freeable)
	expandable, r := newState("expandable_segments:True").SetMemoryFraction(0.5)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	for want, do := range map[string]func() (model.State, model.State, model.Result){
		"pool_begin: begun already":            on(s, func(s model.State) (model.State, model.Result) { return s.BeginAllocateToPool(pool, 1) }),
		"pool_begin: the pool is freeable":     on(s, func(s model.State) (model.State, model.Result) { return s.BeginAllocateToPool(freeable, 1) }),
		"pool_create: the pool is freeable":    on(s, func(s model.State) (model.State, model.Result) { return s.CreatePool(freeable, false, false) }),
		"pool_end: not begun":                  on(s, func(s model.State) (model.State, model.Result) { return s.EndAllocateToPool(unknown) }),
		"pool_release: nobody uses the pool":   on(s, func(s model.State) (model.State, model.Result) { return s.ReleasePool(freeable) }),
		"restore: the pool cannot be restored": on(s, func(s model.State) (model.State, model.Result) { return s.SetCheckpointPoolState(pool) }),
		"mark_end: no capture is marked":       on(s, model.State.MarkCaptureEnd),
		"set_memory_fraction: not in [0, 1]":   on(s, func(s model.State) (model.State, model.Result) { return s.SetMemoryFraction(-0.1) }),
		"the driver grants a segment: 0x200000001 is not the address of a segment": on(expandable, func(s model.State) (model.State, model.Result) {
			return s.Malloc(0, 30*mib, model.DriverResults{Segment: 0x200000001})
		}),
	} {
		before, after, r := do()
		if r.Err == nil || r.Err.Error() != want || r.Ptr != 0 || !after.Equal(before) {
			t.Errorf("%s: %v, at %v, unchanged: %t", want, r.Err, r.Ptr, after.Equal(before))
		}
	}
	if _, r := s.ReleasePool(unknown); r.Err == nil || r.Err.Error() != "pool_release: nobody uses the pool" {
		t.Error(r.Err)
	}
}

func on(s model.State, do func(model.State) (model.State, model.Result)) func() (model.State, model.State, model.Result) {
	return func() (model.State, model.State, model.Result) {
		after, r := do(s)
		return s, after, r
	}
}
