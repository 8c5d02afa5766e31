package upstream

import (
	"errors"
	"sync"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// c10/cuda/test: expandable segments.

// Upstream, later than 2.11: threads allocate and free on a stream each, so that
// their expandable segments grow at the same time. Nothing but running out of memory
// may go wrong.
func TestCUDACachingAllocatorTest_ConcurrentSegmentExpand(t *testing.T) {
	const rounds, ring, threads = 60, 25, 10
	p := newProgram(t, setup{
		settings: "expandable_segments:True,max_split_size_mb:20",
		devices:  fakegpu.Devices(1, 16*spec.GiB), waits: fakegpu.WaitsDrain,
	})
	var running sync.WaitGroup
	failures := make([]error, threads)
	for i := range threads {
		s := p.newStream()
		running.Go(func() {
			var out []spec.Ptr
			for round := range rounds {
				bytes := []uint64{8, 16, 32, 64, 128}[round%5] * spec.MiB
				ptr, err := p.allocator.Malloc(p.request(s, bytes))
				switch {
				case errors.Is(err, spec.ErrOutOfMemory):
				case err != nil:
					failures[i] = errors.Join(failures[i], err)
				default:
					out = append(out, ptr)
					failures[i] = errors.Join(failures[i], p.gpu.Fill(p.device, s, spec.Range{Ptr: ptr, Bytes: bytes}, byte(i)))
				}
				if len(out) > ring {
					failures[i] = errors.Join(failures[i], p.allocator.Free(out[0]))
					out = out[1:]
				}
			}
		})
	}
	running.Wait()
	p.must(errors.Join(failures...))
}

// Upstream, later than 2.11: settings for how much address space an expandable
// segment takes (nine tests). 2.11 refuses them as unknown, and so does ours; the
// space is 9/8 of the device's memory, in whole pages.
func TestExpandableSegmentReserveTest_DefaultFractionAndGiB(t *testing.T) {
	p := newProgram(t, setup{})
	for _, text := range []string{"expandable_segments_reserve:0.5", "expandable_segments_reserve_by_class:[serving:0.25]"} {
		var refused *settings.Error
		if err := p.allocator.Configure(text); !errors.As(err, &refused) {
			t.Errorf("%q: %v", text, err)
		}
	}
	gpu := &reserving{GPU: fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, 16*spec.GiB)})}
	_, err := newAllocator(t, gpu, "expandable_segments:True").Malloc(spec.Request{Bytes: 1})
	p.must(err)
	if want := 18 * spec.GiB; gpu.reserved != want {
		t.Errorf("%d bytes of address space are reserved, want %d", gpu.reserved, want)
	}
}

// reserving is a GPU that counts the address space it gives.
type reserving struct {
	*fakegpu.GPU
	reserved uint64 // bytes
}

func (g *reserving) ReserveAddress(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	g.reserved += bytes
	return g.GPU.ReserveAddress(dev, bytes)
}

// Upstream, later than 2.11 as a test: a request for a hundred times the device's
// memory fits into no expandable segment. It is out of memory like any other, and
// the observers hear of it.
func TestExpandableSegmentReserveDeviceTest_OversizedAllocNotifiesOomObserver(t *testing.T) {
	p := newProgram(t, setup{settings: "expandable_segments:True"})
	heard := 0
	p.allocator.OnOutOfMemory(func(spec.OutOfMemoryReport) { heard++ })
	p.outOfMemory(mainStream, 100*80*spec.GiB)
	if heard != 1 {
		t.Errorf("the observer was called %d times", heard)
	}
	if stats := p.stats(); stats["num_ooms"] != 1 || stats["reserved_bytes.all.current"] != 0 {
		t.Errorf("%d requests failed, %d bytes are reserved", stats["num_ooms"], stats["reserved_bytes.all.current"])
	}
}

// Upstream, later than 2.11: memory imported from another process takes as much
// address space as was shared, not what a segment takes that can grow.
func TestExpandableSegmentIpcReserveTest_ImportReservesOnlyWhatWasShared(t *testing.T) {
	machine := fakegpu.NewMachine(fakegpu.Config{})
	sender := newProcess(t, machine, "expandable_segments:True")
	receiver := &reserving{GPU: machine.NewProcess()}
	importing := newAllocator(t, receiver, "")

	x := sender.empty(mainStream, 4*largeBuffer)
	shared, err := sender.allocator.ShareHandle(x.Ptr)
	sender.must(err)
	opened, err := importing.OpenHandle(0, shared.Handle)
	sender.must(err)
	if receiver.reserved != 4*largeBuffer {
		t.Errorf("%d bytes of address space for %d shared", receiver.reserved, x.Bytes)
	}
	sender.must(opened.Close())
}
