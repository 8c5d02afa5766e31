package conformance

import (
	"strings"
	"testing"

	"gaugeblock/spec/trace"
)

// TestAlikeStepsAreOne: steps that say the same of allocations with successive ids are one line.
func TestAlikeStepsAreOne(t *testing.T) {
	malloc := func(id int64, size uint64) trace.Op { return trace.Op{Kind: trace.OpMalloc, ID: id, Size: size} }
	free := func(id int64) trace.Op { return trace.Op{Kind: trace.OpFree, ID: id} }
	v := &Violation{failure: &Failure{Ops: []trace.Op{
		malloc(9, 512), malloc(10, 512), malloc(11, 512), malloc(12, 64), malloc(13, 64), free(9), free(10), free(11), free(13), free(12), free(11), {Kind: trace.OpEmptyCache},
	}}}
	const want = `
    1-3  malloc 512 bytes on stream 0 as ids 9 to 11
      4  malloc 64 bytes on stream 0 as id 12
      5  malloc 64 bytes on stream 0 as id 13
    6-8  free ids 9 to 11
   9-11  free ids 13 to 11
     12  empty_cache
`
	if text := v.String(); !strings.Contains(text, want) {
		t.Errorf("want%sgot\n%s", want, text)
	}
}
