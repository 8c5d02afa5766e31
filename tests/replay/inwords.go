package replay

import "gaugeblock/spec"

// InWords says what an operation asks for: "malloc 512 bytes on stream 0 as id 1".
// Streams are called by their index in the trace, allocations by their number.
func InWords(op *spec.Op) string { return opInWords(op) }

// EntryInWords puts a trace entry into words.
func EntryInWords(e spec.Event) string { return eventInWords(e) }

// CompareMessage compares the sizes that an out-of-memory message of PyTorch's tells with
// those of an error. what is empty if they are equal.
func CompareMessage(message string, e *spec.OutOfMemoryError) (what, want, got string) {
	if d := (tolerance{}).compareMessage(message, e); d != nil {
		return d.Field, d.Expected, d.Got
	}
	return "", "", ""
}

// CompareLayouts finds the first thing that differs between two layouts, in words; what is
// empty if they are equal.
func CompareLayouts(want, got []spec.LayoutSegment) (what, expected, found string) {
	if d := compareLayouts(want, got); d != nil {
		return d.Field, d.Expected, d.Got
	}
	return "", "", ""
}
