package snapshot

// table is a list of which nothing is moved when it grows: it consists of pieces.
// There can be millions of things in it, and moving them takes longer than reading
// them.
type chunkedList[T any] struct {
	chunks [][]T
	length int
}

const chunkLength = 4096

// add appends and returns the index.
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
