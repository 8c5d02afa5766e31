package play

import (
	"errors"
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// The recorded layout of the memory at the start is made anew, block by block, with other
// blocks for what is free. While everything before it is allocated, a request gets the
// memory directly behind. At the end what is to be free is freed.

// layoutMaker makes the recorded layout.
type layoutMaker struct {
	*runner
	ids      []int      // by initial segment: of its first active block
	inactive []spec.Ptr // to be freed at the end
	holes    []spec.Ptr // to be unmapped
	padded   []paddedBlock
}

// paddedBlock is an active block with the free memory behind it, which is too small to be a
// block of a large pool by itself.
type paddedBlock struct {
	id      int
	request spec.Request
	pool    uint8
}

// makeRecordedLayout makes the initial segments: first those of fixed size, under the
// default settings, then the expandable ones.
func (r *runner) makeRecordedLayout() error {
	m := &layoutMaker{runner: r}
	id := 0
	for i := range r.InitialSegments {
		m.ids = append(m.ids, id)
		for _, b := range r.InitialSegments[i].Blocks {
			if b.State != spec.Inactive {
				id++
			}
		}
	}
	for i := range r.InitialSegments {
		if !r.InitialSegments[i].Expandable {
			if err := m.fixed(i); err != nil {
				return err
			}
		}
	}
	config := spec.DefaultConfig(spec.DefaultGeometry())
	config.ExpandableSegments, config.LargeSegmentSize = true, r.Settings.Config.LargeSegmentSize
	if err := r.configure(config); err != nil {
		return err
	}
	for _, group := range m.expandable() {
		if err := m.fill(group); err != nil {
			return err
		}
	}
	return m.freeInactive()
}

// fixed makes a segment of fixed size. While all blocks of the earlier ones are allocated, a
// request of the size of a segment gets a new segment. Freed, that is the only free block,
// and the blocks are split from it in order. Under the default settings a block is split to
// the exact size: in a large pool no recorded block is as small as a remainder that would
// not be split off.
func (m *layoutMaker) fixed(i int) error {
	s := &m.InitialSegments[i]
	if s.PoolKind == spec.LargePool {
		whole, err := m.allocate(m.PoolNumber(s.Pool), spec.Request{Stream: s.Stream, Bytes: s.TotalSize})
		if err := errors.Join(err, m.alloc.Free(whole)); err != nil {
			return err
		}
	}
	id := m.ids[i]
	for _, b := range s.Blocks {
		made, err := m.block(s, b, b.Address)
		if err != nil {
			return err
		}
		if b.State == spec.Inactive {
			m.inactive = append(m.inactive, made...)
			continue
		}
		m.ptrs[id] = made[0]
		id++
	}
	return nil
}

// block allocates the next block of a segment, at an address. An inactive block of a small
// pool may be larger than the requests that the pool serves, and is allocated in parts.
func (m *layoutMaker) block(s *spec.Segment, b spec.Block, want spec.Ptr) ([]spec.Ptr, error) {
	if b.Size == 0 {
		return nil, fmt.Errorf("the block at %v has no bytes", b.Address)
	}
	largest := b.Size
	if s.PoolKind == spec.SmallPool {
		largest = spec.DefaultGeometry().SmallSize
	}
	var made []spec.Ptr
	for done := uint64(0); done < b.Size; {
		part := min(largest, b.Size-done)
		p, err := m.allocate(m.PoolNumber(s.Pool), spec.Request{Stream: s.Stream, Bytes: part})
		if err != nil {
			return nil, err
		}
		if want := want + spec.Ptr(done); want != anywhere+spec.Ptr(done) && p != want {
			return nil, fmt.Errorf("the block at %v cannot be allocated again, its address is now %v", b.Address, p)
		}
		made = append(made, p)
		done += part
	}
	return made, nil
}

// anywhere is an address that is not known yet.
const anywhere = 0

// expandable are the indexes of the expandable segments in groups: those of a group are
// mapped ranges of one segment.
func (m *layoutMaker) expandable() (groups [][]int) {
	for i := range m.InitialSegments {
		s := &m.InitialSegments[i]
		if !s.Expandable {
			continue
		}
		at := slices.IndexFunc(groups, func(group []int) bool {
			first := &m.InitialSegments[group[0]]
			return first.Stream == s.Stream && first.Pool == s.Pool && first.PoolKind == s.PoolKind
		})
		if at < 0 {
			groups = append(groups, nil)
			at = len(groups) - 1
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

// fill allocates all of an expandable segment, from its first mapped page to the last one.
func (m *layoutMaker) fill(group []int) error {
	first := &m.InitialSegments[group[0]]
	base, end := spec.Ptr(anywhere), first.Address
	place := func(p spec.Ptr) spec.Ptr {
		if base == anywhere {
			return anywhere
		}
		return base + p - first.Address
	}
	make := func(s *spec.Segment, b spec.Block) ([]spec.Ptr, error) {
		made, err := m.block(s, b, place(b.Address))
		if err == nil && base == anywhere {
			base = made[0]
		}
		return made, err
	}
	for _, i := range group {
		s := &m.InitialSegments[i]
		if hole := uint64(s.Address - end); hole > 0 {
			if hole > totalMemory/4 {
				return errors.New("an expandable segment of the start has more than one range of addresses")
			}
			made, err := make(s, spec.Block{Address: end, Size: hole})
			if err != nil {
				return err
			}
			m.holes = append(m.holes, made...)
		}
		end = s.Address + spec.Ptr(s.TotalSize)
		if err := m.mapped(i, make); err != nil {
			return err
		}
	}
	return nil
}

// mapped allocates a mapped range. A free block that is too small for a large pool is
// allocated with the active one before it.
func (m *layoutMaker) mapped(i int, make func(*spec.Segment, spec.Block) ([]spec.Ptr, error)) error {
	s := &m.InitialSegments[i]
	id := m.ids[i]
	smallest := spec.DefaultGeometry().SmallSize
	for j := 0; j < len(s.Blocks); j++ {
		b := s.Blocks[j]
		if b.State == spec.Inactive {
			made, err := make(s, b)
			if err != nil {
				return err
			}
			m.inactive = append(m.inactive, made...)
			continue
		}
		if j+1 < len(s.Blocks) && s.PoolKind == spec.LargePool && s.Blocks[j+1].State == spec.Inactive && s.Blocks[j+1].Size <= smallest {
			m.padded = append(m.padded, paddedBlock{id, spec.Request{Stream: s.Stream, Bytes: b.Size}, m.PoolNumber(s.Pool)})
			j++
			b.Size += s.Blocks[j].Size
		}
		made, err := make(s, b)
		if err != nil {
			return err
		}
		m.ptrs[id] = made[0]
		id++
	}
	return nil
}

// freeInactive frees what is not allocated in the record: first the holes, of which the
// pages are unmapped while nothing else is free, then the ends of padded blocks, from the
// last to the first, so that nothing beside one is free.
func (m *layoutMaker) freeInactive() error {
	for _, p := range m.holes {
		if err := m.alloc.Free(p); err != nil {
			return err
		}
	}
	if len(m.holes) > 0 {
		if err := m.alloc.EmptyCache(); err != nil {
			return err
		}
	}
	for _, b := range slices.Backward(m.padded) {
		was := m.ptrs[b.id]
		if err := m.alloc.Free(was); err != nil {
			return err
		}
		p, err := m.allocate(b.pool, b.request)
		if err != nil {
			return err
		}
		if m.ptrs[b.id] = p; p != was {
			return fmt.Errorf("a block of the start cannot be allocated again: it is at %v, not at %v", p, was)
		}
	}
	for _, p := range m.inactive {
		if err := m.alloc.Free(p); err != nil {
			return err
		}
	}
	return m.alloc.ResetPeakStats(0) // peaks are those of the history
}
