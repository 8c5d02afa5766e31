package tlc

import "strconv"

// A Writer appends canonical texts (see Canonical) to Text.
type Writer struct{ Text []byte }

// Raw appends text that is canonical already: "[a|->", ",b|->".
func (w *Writer) Raw(text string) { w.Text = append(w.Text, text...) }

// Int appends a number.
func (w *Writer) Int(n int) { w.Text = strconv.AppendInt(w.Text, int64(n), 10) }

// Bool appends TRUE or FALSE.
func (w *Writer) Bool(b bool) {
	if b {
		w.Raw("TRUE")
	} else {
		w.Raw("FALSE")
	}
}

// Set appends a set of n elements; element writes the i-th one. Elements must differ. Their
// order does not matter.
func (w *Writer) Set(n int, element func(i int)) {
	w.Raw("{")
	begin := len(w.Text)
	ends := make([]int, n)
	for i := range n {
		element(i)
		ends[i] = len(w.Text)
	}
	w.Text = sortPieces(w.Text, begin, ends, ",")
	w.Raw("}")
}

// Sequence appends a sequence.
func (w *Writer) Sequence(n int, element func(i int)) {
	w.Raw("<<")
	for i := range n {
		if i > 0 {
			w.Raw(",")
		}
		element(i)
	}
	w.Raw(">>")
}
