package alloc_test

import (
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestSteadyStateAllocatesNothing: once the caches are filled, no operation of a running
// program allocates on the Go heap, so the garbage collector has no part in its time.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, settings := range []string{"", "expandable_segments:True", "max_split_size_mb:100,roundup_power2_divisions:4"} {
		t.Run(settings, func(t *testing.T) {
			gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, 80*spec.GiB)})
			a := newAllocator(t, &eventDriver{GPU: gpu}, settings)
			stream, err := gpu.CreateStream(0)
			must(t, err)
			operations := map[string]func(){
				"pair of 512 B":   func() { must(t, a.Free(mustMalloc(t, a, 0, 512))) },
				"pair of 2 MiB":   func() { must(t, a.Free(mustMalloc(t, a, 0, 2*spec.MiB))) },
				"pair of 200 MiB": func() { must(t, a.Free(mustMalloc(t, a, 0, 200*spec.MiB))) },
				"churn":           churn(t, a, stream),
				"a block that another stream used": func() {
					p := mustMalloc(t, a, 0, 512)
					must(t, a.RecordStream(p, 0, stream))
					must(t, a.Free(p))
				},
				"churn of blocks that other streams used": usedChurn(t, a, stream),
				"stats": func() {
					_, err := a.Stats(0)
					must(t, err)
				},
			}
			for name, operation := range operations {
				for range 20_000 {
					operation()
				}
				if n := testing.AllocsPerRun(1000, operation); n != 0 {
					t.Errorf("%s: %v allocations each", name, n)
				}
			}
		})
	}
}

// eventDriver is a fake GPU whose events allocate nothing on the Go heap. One query in five finds
// that the event has not completed.
type eventDriver struct {
	*fakegpu.GPU
	created, queries int
}

func (d *eventDriver) CreateEvent(spec.Device) (spec.EventHandle, error) {
	d.created++
	return spec.EventHandle(d.created), nil
}

func (d *eventDriver) RecordEvent(spec.EventHandle, spec.Device, spec.Stream) error { return nil }

func (d *eventDriver) QueryEvent(spec.EventHandle) (bool, error) {
	d.queries++
	return d.queries%5 != 0, nil
}

func (d *eventDriver) DestroyEvent(spec.EventHandle) error { return nil }

// usedChurn is churn of blocks that one or two other streams used.
func usedChurn(t *testing.T, a *alloc.Allocator, stream spec.Stream) func() {
	step := churn(t, a, stream)
	live := make([]spec.Ptr, 20)
	at := 0
	return func() {
		step()
		at = (at + 1) % len(live)
		if p := live[at]; p != 0 {
			must(t, a.RecordStream(p, 0, 0))
			if at%2 == 0 {
				must(t, a.RecordStream(p, 1, 0))
			}
			must(t, a.Free(p))
		}
		live[at] = mustMallocOn(t, a, 0, stream, uint64(at+1)*3000)
	}
}

// churn frees one of some live blocks of a stream and allocates another.
func churn(t *testing.T, a *alloc.Allocator, stream spec.Stream) func() {
	live := make([]spec.Ptr, 300)
	state := uint64(1)
	return func() {
		state = state*6364136223846793005 + 1442695040888963407
		at := state >> 33 % uint64(len(live))
		must(t, a.Free(live[at]))
		live[at] = mustMallocOn(t, a, 0, stream, 512<<(state>>45%14)+state>>53)
	}
}
