package snapshot

// chunkedList is a list whose elements are not moved when it grows: moving millions of
// them takes longer than reading them.
type chunkedList[T any] struct {
	chunks  [][]T
	length  int
	dropped int // chunks that are forgotten
}

const chunkLength = 4096

// add appends an element and returns its index.
func (t *chunkedList[T]) add(x T) int {
	if t.length%chunkLength == 0 {
		t.chunks = append(t.chunks, make([]T, 0, chunkLength))
	}
	last := &t.chunks[len(t.chunks)-1]
	*last = append(*last, x)
	t.length++
	return t.length - 1
}

func (t *chunkedList[T]) at(i int) *T { return &t.chunks[i/chunkLength][i%chunkLength] }

// drop forgets the elements before i, in whole chunks, and returns how many were forgotten.
func (t *chunkedList[T]) drop(i int) (forgotten int) {
	for ; t.dropped < i/chunkLength; t.dropped++ {
		t.chunks[t.dropped] = nil
		forgotten += chunkLength
	}
	return forgotten
}

// has reports whether element i is not forgotten.
func (t *chunkedList[T]) has(i int) bool { return i/chunkLength >= t.dropped }
