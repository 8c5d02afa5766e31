package snapshot

// chunkedList is a list whose elements are not moved when it grows: moving millions of
// them takes longer than reading them.
type chunkedList[T any] struct {
	chunks [][]T
	length int
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
