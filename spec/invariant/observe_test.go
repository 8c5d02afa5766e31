package invariant_test

import (
	"errors"
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
)

// sceneAllocator is an allocator that can do no more than be looked at.
type sceneAllocator struct {
	spec.Allocator
	scene *scene
	err   error // of Stats, for devices behind the first
}

func (a *sceneAllocator) Snapshot() (spec.Snapshot, error) {
	return a.scene.snapshot, a.scene.views.err
}
func (a *sceneAllocator) Stats(dev spec.Device) (spec.DeviceStats, error) {
	if dev > 0 {
		return spec.DeviceStats{}, a.err
	}
	return a.scene.stats, nil
}

// openAllocator can be looked into as well.
type openAllocator struct{ sceneAllocator }

func (a *openAllocator) Inspect(dev spec.Device, v spec.Visitor) error {
	return a.scene.views.Inspect(dev, v)
}

func TestObserve(t *testing.T) {
	closed := &sceneAllocator{scene: goodScene()}
	open := &openAllocator{*closed}
	for _, c := range []struct {
		allocator spec.Allocator
		devices   int
		want      invariant.Sources
	}{
		{closed, 1, invariant.FromSnapshot | invariant.FromStats},
		{open, 1, invariant.FromSnapshot | invariant.FromStats | invariant.FromInspector},
		{closed, 2, invariant.FromSnapshot | invariant.FromStats},
	} {
		o, err := invariant.Observe(c.allocator, spec.DefaultGeometry(), c.devices)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Sources(); got != c.want || len(o.Stats) != c.devices {
			t.Errorf("%v of %d devices, want %v of %d", got, len(o.Stats), c.want, c.devices)
		}
		if violations, err := invariant.CheckAll(o); err != nil || violations != nil {
			t.Errorf("%v, %v", violations, err)
		}
	}
}

// TestObserveWithoutStatistics: what the allocator cannot tell is left out, and the rest is there.
func TestObserveWithoutStatistics(t *testing.T) {
	a := &openAllocator{sceneAllocator{scene: goodScene(), err: &spec.NotSupportedError{Op: "stats"}}}
	o, err := invariant.Observe(a, spec.DefaultGeometry(), 3)
	if err != nil || len(o.Stats) != 1 || o.Snapshot == nil || o.Inspector == nil {
		t.Errorf("without statistics of all devices: %+v, %v", o, err)
	}
	a.scene.views.err = &spec.NotSupportedError{Op: "snapshot"}
	o, err = invariant.Observe(a, spec.DefaultGeometry(), 1)
	if err != nil || o.Snapshot != nil || len(o.Stats) != 1 {
		t.Errorf("without a snapshot: %+v, %v", o, err)
	}
}

func TestObserveFails(t *testing.T) {
	cause := errors.New("cause")
	a := &sceneAllocator{scene: goodScene(), err: cause}
	if _, err := invariant.Observe(a, spec.DefaultGeometry(), 2); !errors.Is(err, cause) || err.Error() != "observe: device 1: cause" {
		t.Errorf("statistics: %v", err)
	}
	a.scene.views.err = cause
	if _, err := invariant.Observe(a, spec.DefaultGeometry(), 1); !errors.Is(err, cause) || err.Error() != "observe: cause" {
		t.Errorf("snapshot: %v", err)
	}
}
