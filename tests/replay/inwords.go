package replay

import (
	"gaugeblock/spec/trace"
)

// InWords says what an operation asks for: "malloc 512 bytes on stream 0 as id 1".
// Streams are called by their index in the trace, allocations by their number.
func InWords(op *trace.Op) string { return opInWords(op) }
