package explore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
)

// A fingerprint is half of the SHA-256 of a key.
type fingerprint [2]uint64

func fingerprintOf(key []byte) fingerprint {
	sum := sha256.Sum256(key)
	return fingerprint{binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])}
}

// A set is one part of the known states: a hash table with open addressing. A state in it
// has a place, in order of insertion, and is numbered later.
type set struct {
	compact      bool
	table        []uint32 // place + 1; 0: free. The length is a power of two
	fingerprints []fingerprint
	numbers      []uint32
	keys         []byte // by place, concatenated; empty if compact
	ends         []int  // by place: the end of its key
}

func newSet(compact bool) *set { return &set{compact: compact, table: make([]uint32, 1<<10)} }

// add finds a key, or inserts it.
func (s *set) add(print fingerprint, key []byte) (place uint32, isNew bool) {
	if 2*len(s.fingerprints) >= len(s.table) {
		s.grow()
	}
	at := s.find(print, key)
	if s.table[at] != 0 {
		return s.table[at] - 1, false
	}
	place = uint32(len(s.fingerprints))
	s.table[at] = place + 1
	s.fingerprints = append(s.fingerprints, print)
	s.numbers = append(s.numbers, 0)
	if !s.compact {
		s.keys = append(s.keys, key...)
		s.ends = append(s.ends, len(s.keys))
	}
	return place, true
}

// find is the index of a key in the table, or the free one where it belongs. The second
// half of the fingerprint decides, since the first decides the part.
func (s *set) find(print fingerprint, key []byte) int {
	mask := len(s.table) - 1
	for at := int(print[1]) & mask; ; at = (at + 1) & mask {
		if s.table[at] == 0 || s.holds(s.table[at]-1, print, key) {
			return at
		}
	}
}

func (s *set) holds(place uint32, print fingerprint, key []byte) bool {
	if s.fingerprints[place] != print || s.compact {
		return s.fingerprints[place] == print
	}
	begin := 0
	if place > 0 {
		begin = s.ends[place-1]
	}
	return bytes.Equal(s.keys[begin:s.ends[place]], key)
}

func (s *set) grow() {
	s.table = make([]uint32, 2*len(s.table))
	mask := len(s.table) - 1
	for place, print := range s.fingerprints {
		at := int(print[1]) & mask
		for s.table[at] != 0 {
			at = (at + 1) & mask
		}
		s.table[at] = uint32(place) + 1
	}
}
