package explore

import (
	"encoding/binary"
	"math"
)

// A store keeps the states of two levels, the one that is explored and the next one, and
// how each state was first reached. States are kept as their keys.
type store interface {
	// add adds a state to the next level.
	add(key []byte, print fingerprint, by arrival) error

	// read reads up to batchStates states of the level that is explored.
	read(to *batch) error

	// advance ends the level: the next one is explored.
	advance() error

	// arrival is how the state with a number was reached.
	arrival(state int) (arrival, error)

	// bytes is the memory in use.
	bytes() uint64
}

// An arrival is how a state was first reached: by which step, in the order of Next, of
// which state. An initial state has from = initial, and its index in Initial.
type arrival struct {
	from uint32
	step uint16
}

const (
	initial   = math.MaxUint32
	maxStates = math.MaxUint32
	maxSteps  = math.MaxUint16 + 1 // of a state
)

// batchStates is the number of consecutive states of a level that are expanded together, in
// chunks of chunkStates. They do not depend on the number of workers. Tests set the first.
var batchStates = 1 << 13

const chunkStates = 1 << 6

// A batch is consecutive states of a level.
type batch struct {
	keys []byte // concatenated
	ends []int
}

func (b *batch) clear() { b.keys, b.ends = b.keys[:0], b.ends[:0] }

func (b *batch) len() int { return len(b.ends) }

func (b *batch) key(i int) []byte {
	begin := 0
	if i > 0 {
		begin = b.ends[i-1]
	}
	return b.keys[begin:b.ends[i]]
}

// memoryStore is a store without files. The keys of a level are concatenated, each after
// its length.
type memoryStore struct {
	level, next []byte
	arrivals    []arrival
}

func (m *memoryStore) add(key []byte, _ fingerprint, by arrival) error {
	m.next = append(binary.AppendUvarint(m.next, uint64(len(key))), key...)
	m.arrivals = append(m.arrivals, by)
	return nil
}

func (m *memoryStore) read(to *batch) error {
	to.clear()
	for to.len() < batchStates && len(m.level) > 0 {
		length, n := binary.Uvarint(m.level)
		end := n + int(length)
		to.keys = append(to.keys, m.level[n:end]...)
		to.ends = append(to.ends, len(to.keys))
		m.level = m.level[end:]
	}
	return nil
}

func (m *memoryStore) advance() error {
	m.level, m.next = m.next, nil
	return nil
}

func (m *memoryStore) arrival(state int) (arrival, error) { return m.arrivals[state], nil }

func (m *memoryStore) bytes() uint64 {
	return uint64(cap(m.level) + cap(m.next) + 8*cap(m.arrivals))
}
