package explore

import "math/bits"

// compactSet keeps 64 bits of the fingerprint of each state. The number of its part has 10
// more, so two states are taken for one if 74 bits of their fingerprints are equal. Of n
// states this happens to two with a probability below n*n/2^75: 10^8 states, 3 in 10^7.
type compactSet struct{ parts [partCount]compactPart }

// CollisionProbability bounds the probability that a compact exploration of states states
// has taken two of them for one.
func CollisionProbability(states int) float64 {
	return float64(states) * float64(states) / (1 << 37) / (1 << 38)
}

// A compactPart is a hash table with open addressing. It grows by a quarter when three
// quarters are used, so a state needs 10.7 to 13.3 bytes.
type compactPart struct {
	table []uint64 // 0: free
	used  int
}

func (s *compactSet) add(print fingerprint, _ []byte) (isNew bool) {
	return s.parts[print.part()].add(max(print[1], 1))
}

func (s *compactSet) bytes() (n uint64) {
	for i := range s.parts {
		n += 8 * uint64(len(s.parts[i].table))
	}
	return n
}

func (p *compactPart) add(print uint64) (isNew bool) {
	if 4*p.used >= 3*len(p.table) {
		p.grow()
	}
	at := p.find(print)
	if p.table[at] != 0 {
		return false
	}
	p.table[at] = print
	p.used++
	return true
}

// find is the index of a fingerprint, or the free one where it belongs. They are in about
// ascending order.
func (p *compactPart) find(print uint64) int {
	high, _ := bits.Mul64(print, uint64(len(p.table)))
	at := int(high)
	for p.table[at] != 0 && p.table[at] != print {
		if at++; at == len(p.table) {
			at = 0
		}
	}
	return at
}

func (p *compactPart) grow() {
	old := p.table
	p.table = make([]uint64, max(16, len(old)+len(old)/4))
	for _, print := range old {
		if print != 0 {
			p.table[p.find(print)] = print
		}
	}
}
