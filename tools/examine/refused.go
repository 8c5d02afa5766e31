package examine

import (
	"fmt"

	"gaugeblock/fakegpu/cuda/host"
)

// refusals are what the driver refused to take back in a call: memory that is not there, or not any
// more. The allocator has lost count of what it has; where somebody else has the address meanwhile, it
// would take their memory.
type refusals struct{ first string }

// hear notes the answer to a call by which a program of CUDA gives something back.
func (r *refusals) hear(operation int32, words [8]uint64, number int32) {
	const invalidValue = 1
	call, word := host.GivesBack(operation)
	if call != "" && number == invalidValue {
		r.note(call, words[word])
	}
}

// hearLine notes the answer to a call of the line protocol.
func (r *refusals) hearLine(c *lineCall, answer *lineResult) {
	gives := map[string]uint64{"free": c.Ptr, "unmap_page": c.Ptr, "free_address": c.Ptr, "release_page": c.Page}
	if answer.Error == "cudaErrorInvalidValue" || answer.Error == "CUDA_ERROR_INVALID_VALUE" { // of the runtime, of the driver
		r.note(c.Call, gives[c.Call])
	}
}

// note keeps the first; to give back nothing is no fault.
func (r *refusals) note(call string, what uint64) {
	if what != 0 && r.first == "" {
		r.first = fmt.Sprintf("%s of %#x was refused: it is not allocated", call, what)
	}
}

// refused is the first since it was last asked, or "".
func (r *refusals) refused() string {
	first := r.first
	r.first = ""
	return first
}
