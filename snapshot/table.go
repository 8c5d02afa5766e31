package snapshot

// table is a list of which nothing is moved when it grows: it consists of pieces.
// There can be millions of things in it, and moving them takes longer than reading
// them.
type table[T any] struct {
	pieces [][]T
	length int
}

const tablePiece = 4096

// add appends and returns the index.
func (t *table[T]) add(x T) int {
	if t.length%tablePiece == 0 {
		t.pieces = append(t.pieces, make([]T, 0, tablePiece))
	}
	last := &t.pieces[len(t.pieces)-1]
	*last = append(*last, x)
	t.length++
	return t.length - 1
}

func (t *table[T]) at(i int) *T { return &t.pieces[i/tablePiece][i%tablePiece] }
