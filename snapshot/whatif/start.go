package whatif

import (
	"errors"
	"fmt"

	"gaugeblock/alloc"
	"gaugeblock/spec"
)

// How a run begins. A whole history begins with an empty allocator. One that was cut
// off begins with what the program held then, and there are two guesses at how that
// lies: as it was recorded, which is right if the settings are the recorded ones; and
// packed, as if it had just been asked for, in order of address.

// begin makes the allocator, and in it what is held at the start.
func (r *runner) begin() error {
	layOut := r.canLayOut()
	addresses := &recordedFirst{model: r.setup.Model.Addresses()}
	settings := r.setup.Settings
	if layOut {
		settings = ""
		for i := range r.Start {
			addresses.recorded = append(addresses.recorded, r.Start[i].Address)
		}
	}
	r.driver = newDriver(addresses)
	r.driver.now = -1
	var err error
	if r.alloc, err = alloc.New(r.driver, alloc.Options{Settings: settings}); err != nil {
		return err
	}
	for _, id := range r.Pools {
		if err := r.alloc.CreatePool(0, id, spec.PoolOptions{}); err != nil {
			return err
		}
	}
	if layOut {
		err = errors.Join(r.layOut(), r.alloc.Configure(r.setup.Settings))
	} else {
		err = r.pack()
	}
	if len(addresses.recorded) > 0 {
		err = errors.Join(err, errors.New("the recorded start has segments that cannot be obtained"))
	}
	if r.setup.verifier != nil {
		addresses.recorded = r.addresses()
	}
	if err != nil || r.setup.Limit == 0 {
		return err
	}
	return r.alloc.SetMemoryFraction(0, (float64(r.setup.Limit)+0.5)/totalMemory)
}

// canLayOut reports whether the start is to be made as it was recorded, which is
// possible with plain segments, unless it is such as no allocator leaves behind.
func (r *runner) canLayOut() bool {
	for i := range r.Start {
		if s := &r.Start[i]; s.Expandable || s.Address+spec.Ptr(s.TotalSize) > recordedEnd {
			return false
		}
	}
	return !r.Whole() && !r.setup.Model.Packed && !r.strange
}

// pack asks for what is held at the start.
func (r *runner) pack() error {
	held := r.Held
	for i := range r.Start {
		s := &r.Start[i]
		for _, b := range s.Blocks {
			if b.State == spec.Inactive {
				continue
			}
			asked := min(b.RequestedSize, b.Size) // no allocator gives less than was asked for
			p, err := r.allocate(r.poolNumber(s.Pool), spec.Request{Stream: s.Stream, Bytes: asked})
			if err != nil && !errors.Is(err, spec.ErrOutOfMemory) {
				return err
			}
			r.ptrs[held[0]], held = p, held[1:]
		}
	}
	return r.forgetBeginning()
}

// layOut makes the segments of the start one after the other. As long as every block
// of those before is taken, a request as large as a segment gets a new one; given back
// it is the only free block there is, and the blocks are cut from it in order. What is
// free in the record is given back in the end. Settings are the default ones
// meanwhile, under which blocks are cut to size: in a large pool none is smaller than
// what would be kept with its neighbour.
func (r *runner) layOut() error {
	held := r.Held
	var free []spec.Ptr
	for i := range r.Start {
		s := &r.Start[i]
		if s.PoolKind == spec.LargePool {
			whole, err := r.allocate(r.poolNumber(s.Pool), spec.Request{Stream: s.Stream, Bytes: s.TotalSize})
			if err := errors.Join(err, r.alloc.Free(whole)); err != nil {
				return err
			}
		}
		for _, b := range s.Blocks {
			made, err := r.layOutBlock(s, b)
			if err != nil {
				return err
			}
			if b.State == spec.Inactive {
				free = append(free, made...)
				continue
			}
			r.ptrs[held[0]], held = made[0], held[1:]
		}
	}
	for _, p := range free {
		if err := r.alloc.Free(p); err != nil {
			return err
		}
	}
	return r.forgetBeginning()
}

// layOutBlock takes the next block of a segment; a free block of a small pool in
// pieces, since a small pool serves no larger ones.
func (r *runner) layOutBlock(s *spec.Segment, b spec.Block) ([]spec.Ptr, error) {
	most := b.Size
	if s.PoolKind == spec.SmallPool {
		most = spec.DefaultGeometry().SmallSize
	}
	var made []spec.Ptr
	for done := uint64(0); done < b.Size; {
		piece := min(most, b.Size-done)
		p, err := r.allocate(r.poolNumber(s.Pool), spec.Request{Stream: s.Stream, Bytes: piece})
		if err != nil {
			return nil, err
		}
		if want := b.Address + spec.Ptr(done); p != want {
			return nil, fmt.Errorf("the block at %v cannot be made again, it came out at %v", want, p)
		}
		made = append(made, p)
		done += piece
	}
	return made, nil
}

// forgetBeginning lets peaks begin at the start of the record.
func (r *runner) forgetBeginning() error { return r.alloc.ResetPeakStats(0) }

// checkStart finds out whether the start can be made as it was recorded.
func (h *History) checkStart() {
	r := &runner{History: h, setup: Setup{Model: measured}, ptrs: make([]spec.Ptr, h.Allocations)}
	h.strange = r.begin() != nil
}
