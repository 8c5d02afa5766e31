package bounded

import (
	"bytes"

	"gaugeblock/spec"
)

// States that differ only in the numbers of streams are symmetric, and so are those that
// differ only in the numbers of threads, or of pools. The numbers of streams decide the
// order in which events are processed, but not the result: the blocks become free in one
// action, and neighbours are merged in whatever order they become free. The numbers of
// pools with use_on_oom decide which one is searched first, so these are not exchanged.

// A naming gives new numbers to streams, pools and threads.
type naming struct {
	streams, pools, threads numbering
}

// A numbering is a permutation of some numbers, at most maxNames of them.
type numbering struct {
	to [maxNames + 1]byte // by old number: the new one. Other numbers are themselves
	by []byte             // the old numbers, in the order of the new ones
}

// maxNames bounds the numbers of streams, pools and threads.
const maxNames = 8

// numberings are the permutations of some numbers that leave the fixed ones in their
// places; the identity is the first.
func numberings[N ~uint64](numbers, fixed []N) (all []numbering) {
	permute(asBytes(numbers), asBytes(fixed), 0, func(by []byte) {
		n := numbering{by: bytes.Clone(by)}
		for i := range n.to {
			n.to[i] = byte(i)
		}
		for i, old := range by {
			n.to[old] = byte(numbers[i])
		}
		all = append(all, n)
	})
	return all
}

func asBytes[N ~uint64](numbers []N) (list []byte) {
	for _, n := range numbers {
		list = append(list, byte(n))
	}
	return list
}

// permute yields all permutations of the numbers from an index on.
func permute(numbers, fixed []byte, from int, yield func([]byte)) {
	if from == len(numbers) {
		yield(numbers)
		return
	}
	for i := from; i < len(numbers); i++ {
		if i == from || !bytes.Contains(fixed, numbers[i:i+1]) && !bytes.Contains(fixed, numbers[from:from+1]) {
			numbers[from], numbers[i] = numbers[i], numbers[from]
			permute(numbers, fixed, from+1, yield)
			numbers[from], numbers[i] = numbers[i], numbers[from]
		}
	}
}

// symmetries are the namings under which the states of a module are symmetric. fixedPools
// keep their numbers. The identity is the first.
func symmetries(streams []spec.Stream, pools, fixedPools, threads []uint64) (all []naming) {
	for _, s := range numberings(streams, nil) {
		for _, p := range numberings(pools, fixedPools) {
			for _, t := range numberings(threads, nil) {
				all = append(all, naming{s, p, t})
			}
		}
	}
	return all
}
