package check

import "gaugeblock/spec"

// indexes finds the index of a handle in a list of different handles. It is a hash table of
// indexes: each search reads four bytes and the handle itself, which for a log that names many
// streams in any order are few cache misses. The zero value is of a list of no more than one
// handle.
type indexes struct {
	// indexes in the list, -1 where there is none; a power of two, at most half of them taken
	places []int32
	shift  uint8 // of a hash, to a place
}

func (x *indexes) place(handle spec.Stream) int {
	const factor = 0x9e37_79b9_7f4a_7c15 // 2^64 divided by the golden ratio
	return int(uint64(handle) * factor >> x.shift)
}

// of is the index of a handle; the length of the list if it is not in it.
func (x *indexes) of(handle spec.Stream, list []spec.Stream) int {
	if len(x.places) == 0 {
		if len(list) > 0 && list[0] == handle {
			return 0
		}
		return len(list)
	}
	for at := x.place(handle); ; at++ {
		index := x.places[at&(len(x.places)-1)]
		switch {
		case index < 0:
			return len(list)
		case list[index] == handle:
			return int(index)
		}
	}
}

// add takes the last one of the list in, which was not in it before.
func (x *indexes) add(list []spec.Stream) {
	if 2*len(list) > len(x.places) {
		x.grow(list)
		return
	}
	x.put(len(list)-1, list)
}

func (x *indexes) put(index int, list []spec.Stream) {
	at := x.place(list[index])
	for x.places[at&(len(x.places)-1)] >= 0 {
		at++
	}
	x.places[at&(len(x.places)-1)] = int32(index)
}

func (x *indexes) grow(list []spec.Stream) {
	bits := uint8(4)
	for 1<<bits < 4*len(list) {
		bits++
	}
	x.places, x.shift = make([]int32, 1<<bits), 64-bits
	for i := range x.places {
		x.places[i] = -1
	}
	for index := range list {
		x.put(index, list)
	}
}
