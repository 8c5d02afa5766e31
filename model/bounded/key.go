package bounded

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sync"

	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// A key is a state as bytes: a byte for each number that does not follow from others; a
// list is its length and its elements. Two states have the same key exactly if no sequence
// of actions can tell them apart. What else the model has (the requested size of free
// blocks, counters) has no effect on later steps, and is left out. TestEveryFieldHasAKey
// lists all fields of a State, with the reason for each that is not here.
//
// A coder writes a key or reads it. There is one description of both, so that they cannot
// differ. While it writes it does not change the state.
type coder struct {
	key     []byte // what is written, or what is left to read
	reading bool
	names   *naming // while writing

	following model.Truth // what follows from the rest of the state (truth.go)
}

// keyed is a module: its code describes the key of its states.
type keyed interface {
	code(k *coder, s *model.State)
}

// keys are the keys of the states of a module.
type keys struct {
	module  keyed
	initial *model.State
	names   []naming // those under which states are symmetric; the identity is the first
}

// Key implements explore.Specification.
func (m *keys) Key(to []byte, s *model.State) []byte { return m.write(to, s, &m.names[0]) }

// LeastKey appends the least of the keys of the states that are symmetric to a state.
func (m *keys) LeastKey(to []byte, s *model.State) []byte {
	begin := len(to)
	for i := range m.names {
		end := len(to)
		to = m.write(to, s, &m.names[i])
		if i > 0 && bytes.Compare(to[end:], to[begin:end]) < 0 {
			to = append(to[:begin], to[end:]...)
		} else if i > 0 {
			to = to[:end]
		}
	}
	return to
}

// write appends the key of a state with other numbers of streams, pools and threads.
func (m *keys) write(to []byte, s *model.State, names *naming) []byte {
	k := writers.Get().(*coder)
	k.key, k.names = to, names
	m.module.code(k, s)
	k.truth(s)
	to, k.key = k.key, nil
	writers.Put(k)
	return to
}

// writers are coders that write. They are used again, since each key needs one.
var writers = sync.Pool{New: func() any { return new(coder) }}

// Decoder implements explore.Specification.
func (m *keys) Decoder() func(key []byte) *model.State {
	return func(key []byte) *model.State {
		s := *m.initial
		k := &coder{reading: true, key: key}
		m.module.code(k, &s)
		k.truth(&s)
		if len(k.key) != 0 {
			panic(fmt.Sprintf("bounded: %d bytes after the key of a state", len(k.key)))
		}
		return &s
	}
}

// byte writes a byte, or reads one.
func (k *coder) byte(b byte) byte {
	if k.reading {
		b, k.key = k.key[0], k.key[1:]
		return b
	}
	k.key = append(k.key, b)
	return b
}

// number writes or reads a number, which is at most maxUnits.
func number[N ~int | ~uint8 | ~uint64](k *coder, n *N) {
	if k.reading {
		*n = N(k.byte(0))
		return
	}
	if uint64(*n) > maxUnits {
		panic(fmt.Sprintf("bounded: the number %d does not fit into a key", *n))
	}
	k.byte(byte(*n))
}

// list writes or reads the length of a list and its elements.
func list[T any](k *coder, l *[]T, element func(t *T)) {
	n := len(*l)
	number(k, &n)
	if k.reading {
		*l = make([]T, n)
	}
	for i := range *l {
		element(&(*l)[i])
	}
}

// flags writes or reads some bools.
func (k *coder) flags(all ...*bool) {
	if k.reading {
		b := k.byte(0)
		for i, is := range all {
			*is = b>>i&1 == 1
		}
		return
	}
	b := byte(0)
	for i, is := range all {
		if *is {
			b |= 1 << i
		}
	}
	k.byte(b)
}

func (k *coder) address(p *spec.Ptr) {
	units := *p - AddressBase
	if n := uint64(units); k.reading {
		number(k, &n)
		*p = AddressBase + spec.Ptr(n)
	} else {
		number(k, &n)
	}
}

func (k *coder) memory(r *spec.Range) {
	k.address(&r.Ptr)
	number(k, &r.Bytes)
}

func (k *coder) stream(s *spec.Stream) {
	if k.reading {
		*s = spec.Stream(k.byte(0))
		return
	}
	k.byte(k.names.streams.to[*s])
}

// pool writes or reads the number of a pool; 0 is the default pool.
func (k *coder) pool(id *spec.PoolID) {
	if k.reading {
		*id = PoolID(uint64(k.byte(0)))
		return
	}
	k.byte(k.names.pools.to[poolNumber(*id)])
}

func (k *coder) thread(id *int) {
	if k.reading {
		*id = int(k.byte(0))
		return
	}
	k.byte(k.names.threads.to[*id])
}

// code is the key of the variables of CachingAllocator.tla.
func (c *CachingAllocator) code(k *coder, s *model.State) {
	list(k, &s.Segments, func(g *model.Segment) { k.segment(g, s) })
	for i := range c.Streams {
		k.streamOf(s, i)
	}
}

// segment has the segment's blocks, from which its size follows.
func (k *coder) segment(g *model.Segment, s *model.State) {
	k.address(&g.Address)
	k.stream(&g.Stream)
	k.pool(&g.Pool)
	large := g.PoolKind == spec.LargePool
	k.flags(&large, &g.Expandable)
	if s.Rules.Ties == upstream.TiesBySegment {
		number(k, &g.Made)
	}
	end := g.Address
	list(k, &g.Blocks, func(b *model.Block) {
		k.block(b)
		if s.Rules.Ties == upstream.TiesByBlock {
			number(k, &b.Made)
		}
		if k.reading {
			b.Address = end
			end += spec.Ptr(b.Size)
		}
	})
	if !k.reading {
		return
	}
	g.Size = uint64(end - g.Address)
	if large {
		g.PoolKind = spec.LargePool
	}
	if g.Expandable {
		g.Page = s.PageSize(g.PoolKind)
	}
}

func (k *coder) block(b *model.Block) {
	number(k, &b.State)
	uses := len(b.StreamUses) > 0
	k.flags(&b.Unmapped, &uses)
	number(k, &b.Size)
	if b.State != spec.Inactive {
		number(k, &b.RequestedSize)
	}
	if uses {
		k.streamUses(&b.StreamUses)
	}
}

// streamUses is a bit for each stream.
func (k *coder) streamUses(uses *[]spec.DeviceStream) {
	mask := byte(0)
	if !k.reading {
		for _, id := range *uses {
			mask |= 1 << (k.names.streams.to[id.Stream] - 1)
		}
	}
	mask = k.byte(mask)
	if k.reading {
		for i := range 8 {
			if mask>>i&1 == 1 {
				*uses = append(*uses, onDevice(spec.Stream(i+1)))
			}
		}
	}
}

// streamOf is the pending work and the events of the i-th stream. How many pieces of its
// work are complete has no effect, so a state that is read has none.
func (k *coder) streamOf(s *model.State, i int) {
	if k.reading {
		k.readStream(s, onDevice(spec.Stream(i+1)))
		return
	}
	stream := s.StreamOf(k.writtenStream(i))
	list(k, &stream.Work, k.memory)
	k.writeEvents(s, &stream)
}

// writtenStream is the i-th stream by new numbers.
func (k *coder) writtenStream(i int) spec.DeviceStream {
	return onDevice(spec.Stream(k.names.streams.by[i]))
}

func (k *coder) writeEvents(s *model.State, stream *model.Stream) {
	at := len(k.key)
	k.byte(0)
	for _, e := range s.Events {
		if e.Stream == stream.ID {
			k.key[at]++
			k.event(&e, stream.Completed)
		}
	}
}

func (k *coder) readStream(s *model.State, id spec.DeviceStream) {
	stream := model.Stream{ID: id}
	list(k, &stream.Work, k.memory)
	if len(stream.Work) > 0 {
		s.Streams = append(s.Streams, stream)
	}
	for range k.byte(0) {
		e := model.Event{Stream: id}
		k.event(&e, 0)
		s.Events = append(s.Events, e)
	}
}

// event is the address of a block, and how many pieces of work are before the event.
func (k *coder) event(e *model.Event, completed int) {
	k.address(&e.Block)
	before := max(0, e.After-completed)
	number(k, &before)
	e.After = completed + before
}

// code is the key of what PrivatePools.tla adds. The deferred frees follow from the blocks,
// which still have their stream uses.
func (p *PrivatePools) code(k *coder, s *model.State) {
	p.CachingAllocator.code(k, s)
	numbered(k, &s.Pools, poolNumbers, func(q *model.Pool) int { return poolNumber(q.ID) }, func(q *model.Pool) {
		k.poolState(q)
		if p.asks {
			k.flags(&q.Captured)
		} else if k.reading {
			q.Captured = !p.isUncaptured(q.ID)
		}
	})
	list(k, &s.Routings, k.routing)
	if s.Rules.Captures == upstream.CapturesByMark {
		number(k, &s.Marked)
	}
	for i := range p.Streams {
		k.graphStreamUses(s, i)
	}
	if k.reading {
		slices.SortFunc(s.GraphStreamUses, func(a, b model.GraphStreamUse) int {
			return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Stream.Stream, b.Stream.Stream))
		})
	}
}

func (k *coder) routing(r *model.PoolRouting) {
	k.pool(&r.Pool)
	k.stream(&r.Stream)
	k.flags(&r.All, &r.Uncaptured)
}

// numbered writes or reads a list that is in the order of the numbers of its elements.
func numbered[T any](k *coder, l *[]T, names func(*naming) []byte, number func(t *T) int, element func(t *T)) {
	if k.reading {
		list(k, l, element)
		return
	}
	k.byte(byte(len(*l)))
	for _, old := range names(k.names) {
		for i := range *l {
			if number(&(*l)[i]) == int(old) {
				element(&(*l)[i])
			}
		}
	}
}

func poolNumbers(n *naming) []byte   { return n.pools.by }
func threadNumbers(n *naming) []byte { return n.threads.by }

func (k *coder) poolState(p *model.Pool) {
	k.pool(&p.ID)
	number(k, &p.UseCount)
	k.flags(&p.UseOnOOM, &p.NoSplit)
	const positive = 128 // the count may be negative
	segments := p.DriverSegments + positive
	number(k, &segments)
	if k.reading {
		p.DriverSegments = segments - positive
	}
}

// graphStreamUses are those of the i-th stream, by block.
func (k *coder) graphStreamUses(s *model.State, i int) {
	if k.reading {
		for range k.byte(0) {
			u := model.GraphStreamUse{Stream: onDevice(spec.Stream(i + 1))}
			k.address(&u.Block)
			s.GraphStreamUses = append(s.GraphStreamUses, u)
		}
		return
	}
	at := len(k.key)
	k.byte(0)
	for _, u := range s.GraphStreamUses {
		if u.Stream == k.writtenStream(i) {
			k.key[at]++
			k.address(&u.Block)
		}
	}
}

// code is the key of what Checkpoint.tla adds.
func (c *Checkpoint) code(k *coder, s *model.State) {
	c.PrivatePools.code(k, s)
	number := func(saved *model.Checkpoint) int { return poolNumber(saved.Pool) }
	numbered(k, &s.Checkpoints, poolNumbers, number, func(saved *model.Checkpoint) {
		k.pool(&saved.Pool)
		list(k, &saved.Blocks, func(b *model.SavedBlock) {
			k.memory(&b.Memory)
			k.flags(&b.Allocated)
		})
		if s.Rules.RestoreRefusesGrown {
			list(k, &saved.Mapped, k.mappedSize)
		}
	})
}

func (k *coder) mappedSize(m *model.MappedSize) {
	k.address(&m.Segment)
	number(k, &m.Bytes)
}

// code is the key of what Settings.tla adds.
func (m *Settings) code(k *coder, s *model.State) {
	m.CachingAllocator.code(k, s)
	number(k, &s.Config.MaxSplitSize)
}

// code is the key of what TwoStepMalloc.tla adds.
func (t *TwoStepMalloc) code(k *coder, s *model.State) {
	t.CachingAllocator.code(k, s)
	number := func(c *model.PendingMalloc) int { return c.ID }
	numbered(k, &s.PendingMallocs, threadNumbers, number, func(c *model.PendingMalloc) {
		at := c.AtDriver()
		k.atDriver(&at)
		if k.reading {
			*c = s.PendingMallocAt(at)
		}
	})
}

func (k *coder) atDriver(at *model.AtDriver) {
	k.thread(&at.ID)
	k.stream(&at.Stream)
	k.pool(&at.Pool)
	number(k, &at.RequestedSize)
	number(k, &at.Attempt)
	granted := at.Granted != 0
	k.flags(&at.Answered, &granted)
	if granted {
		k.address(&at.Granted)
	}
}
