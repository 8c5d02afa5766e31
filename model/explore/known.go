package explore

import "bytes"

// known is the known states, in parts. Different parts can be used at the same time.
type known interface {
	// add adds a state, unless it is there.
	add(print fingerprint, key []byte) (isNew bool)

	// bytes is the memory in use. It may be called while nothing is added.
	bytes() uint64
}

// keySet keeps whole keys, and gives numbers to states.
type keySet struct{ parts [partCount]keyPart }

func newKeySet() *keySet { return &keySet{} }

// A keyPart is a hash table with open addressing. A state in it has a place, in order of
// insertion, and is numbered later.
type keyPart struct {
	table        []uint32 // place + 1; 0: free. The length is a power of two
	fingerprints []fingerprint
	numbers      []uint32 // by place
	keys         []byte   // by place, concatenated
	ends         []int    // by place: the end of its key
}

func (s *keySet) add(print fingerprint, key []byte) (isNew bool) {
	p := &s.parts[print.part()]
	if 2*len(p.fingerprints) >= len(p.table) {
		p.grow()
	}
	at := p.find(print, key)
	if p.table[at] != 0 {
		return false
	}
	p.fingerprints = append(p.fingerprints, print)
	p.table[at] = uint32(len(p.fingerprints))
	p.numbers = append(p.numbers, 0)
	p.keys = append(p.keys, key...)
	p.ends = append(p.ends, len(p.keys))
	return true
}

// number is where the number of a known state is; nil if it is not known.
func (s *keySet) number(print fingerprint, key []byte) *uint32 {
	p := &s.parts[print.part()]
	if len(p.table) == 0 {
		return nil
	}
	at := p.find(print, key)
	if p.table[at] == 0 {
		return nil
	}
	return &p.numbers[p.table[at]-1]
}

func (s *keySet) bytes() (n uint64) {
	for i := range s.parts {
		p := &s.parts[i]
		n += uint64(4*cap(p.table) + 16*cap(p.fingerprints) + 4*cap(p.numbers) + cap(p.keys) + 8*cap(p.ends))
	}
	return n
}

// find is the index of a key in the table, or the free one where it belongs.
func (p *keyPart) find(print fingerprint, key []byte) int {
	mask := len(p.table) - 1
	for at := int(print[1]) & mask; ; at = (at + 1) & mask {
		if p.table[at] == 0 || p.holds(p.table[at]-1, print, key) {
			return at
		}
	}
}

func (p *keyPart) holds(place uint32, print fingerprint, key []byte) bool {
	if p.fingerprints[place] != print {
		return false
	}
	begin := 0
	if place > 0 {
		begin = p.ends[place-1]
	}
	return bytes.Equal(p.keys[begin:p.ends[place]], key)
}

func (p *keyPart) grow() {
	p.table = make([]uint32, max(8, 2*len(p.table)))
	mask := len(p.table) - 1
	for place, print := range p.fingerprints {
		at := int(print[1]) & mask
		for p.table[at] != 0 {
			at = (at + 1) & mask
		}
		p.table[at] = uint32(place) + 1
	}
}
