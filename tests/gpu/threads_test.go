package gpu

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"gaugeblock/spec"
)

// TestGoroutines: many goroutines, which the runtime moves between threads, use the device
// through one allocator, each on a stream of its own. No call relies on what is current on
// a thread, and everyone's memory stays its own.
func TestGoroutines(t *testing.T) {
	onBoth(t, func(l *lab) {
		a := l.reference(l.device, "release_lock_on_cudamalloc:True")
		var group sync.WaitGroup
		failures := make([]error, 16)
		for i := range failures {
			s := l.stream(0)
			group.Go(func() { failures[i] = useAlone(l.device, a, s, byte(i+1)) })
		}
		group.Wait()
		l.must(errors.Join(failures...))
	})
}

// useAlone obtains memory, fills it, sees whether it stays so, and gives it back, again and
// again.
func useAlone(d device, a spec.Allocator, s spec.Stream, value byte) error {
	for round := range 20 {
		r := spec.Range{Bytes: uint64(1+round%5) * 300 * spec.KiB}
		var err error
		if r.Ptr, err = a.Malloc(spec.Request{Stream: s, Bytes: r.Bytes}); err != nil {
			return err
		}
		if err := d.Fill(0, s, r, value); err != nil {
			return err
		}
		runtime.Gosched()
		data, err := d.ReadBack(0, s, r)
		if err := errors.Join(err, expect(data, value), a.Free(r.Ptr)); err != nil {
			return err
		}
	}
	return nil
}
