package model_test

import (
	"fmt"

	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/upstream"
)

const mib = 1 << 20

// newState is the initial state on a device with 1 GiB.
func newState(text string) model.State {
	g := spec.DefaultGeometry()
	cfg, err := settings.Parse(text, g)
	if err != nil {
		panic(err)
	}
	return model.New(0, spec.GiB, cfg, g, upstream.Rules{})
}

// A malloc that misses the cache allocates a segment, and the next one is served from
// the remainder. Earlier states do not change.
func Example() {
	empty := newState("")
	one, r := empty.Malloc(0, 5*mib, model.DriverResults{Segment: 0x1000000})
	fmt.Println(r.Ptr)
	two, r := one.Malloc(0, 12*mib, model.DriverResults{Segment: 0x8000000})
	fmt.Println(r.Ptr)
	free, _ := one.Free(0x1000000)
	fmt.Println(two)
	fmt.Println(free)
	// Output:
	// 0x1000000
	// 0x1500000
	// device 0: 20971520 of 1073741824 bytes reserved
	//   0x1000000 stream default: [5242880 active_allocated] [12582912 active_allocated] [3145728 inactive]
	// device 0: 20971520 of 1073741824 bytes reserved
	//   0x1000000 stream default: [20971520 inactive]
}

// With the lock released around the driver a malloc is three actions here, and two
// mallocs pass the limit together: both test it before either registers anything.
func Example_twoMallocs() {
	s, _ := newState("release_lock_on_cudamalloc:True").SetMemoryFraction(20.0 / 1024)
	s, _, done := s.MallocSearch(1, 0, 20*mib, model.DriverResults{})
	fmt.Println("A searched, done:", done)
	s, _, done = s.MallocSearch(2, 0, 20*mib, model.DriverResults{})
	fmt.Println("B searched, done:", done)
	for _, call := range []struct {
		id      int
		segment spec.Ptr
	}{{1, 0x1000000}, {2, 0x3000000}} {
		results := model.DriverResults{Segment: call.segment}
		var r model.Result
		s, _, _ = s.MallocResume(call.id, results)
		s, r, done = s.MallocResume(call.id, results)
		fmt.Println("granted and registered, done:", done, r.Ptr)
	}
	fmt.Println(s)
	// Output:
	// A searched, done: false
	// B searched, done: false
	// granted and registered, done: true 0x1000000
	// granted and registered, done: true 0x3000000
	// device 0: 41943040 of 1073741824 bytes reserved, limit 20971520
	//   0x1000000 stream default: [20971520 active_allocated]
	//   0x3000000 stream default: [20971520 active_allocated]
}
