package replay

import (
	"bytes"
	"fmt"
	"strings"

	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// sentences are a replay in words: one for each operation, first what the program
// asked for, then what the allocator did. Work that touched memory which it had
// no right to touch is reported as soon as it has run.
type sentences struct {
	w          *bytes.Buffer // nil: nothing is written
	violations int           // how many have been written
}

func (s *sentences) write(format string, args ...any) { fmt.Fprintf(s.w, format+"\n", args...) }

// operation writes one operation and what the device has noticed since the last.
func (s *sentences) operation(number int, op *trace.Op, out *perform.Result, gpu *fakegpu.GPU) {
	if s.w == nil {
		return
	}
	s.write("%6d  %s: %s.", number, op.InWords(), outcomeInWords(out))
	violations := gpu.Violations()
	for _, v := range violations[s.violations:] {
		s.write("        Illegal access: %v.", v)
	}
	s.violations = len(violations)
}

func outcomeInWords(out *perform.Result) string {
	var deeds []string
	for _, e := range out.Entries {
		if words := deedInWords(e); words != "" {
			deeds = append(deeds, words)
		}
	}
	switch {
	case out.Skipped:
		return out.Err.Error()
	case out.Err != nil:
		deeds = append(deeds, "failed: "+out.Err.Error())
	case len(deeds) == 0 && out.Ptr != 0:
		return fmt.Sprintf("allocated %v", out.Ptr)
	case len(deeds) == 0:
		return "done"
	}
	return strings.Join(deeds, "; ")
}

// deedInWords says what the allocator did, in the past tense.
func deedInWords(e spec.TraceEntry) string {
	size := trace.SizeInWords(e.Size)
	switch e.Action {
	case spec.ActionAlloc:
		return fmt.Sprintf("allocated %v", e.Addr)
	case spec.ActionFreeRequested:
		return fmt.Sprintf("requested the free of %v (%s)", e.Addr, size)
	case spec.ActionFreeCompleted:
		return fmt.Sprintf("completed the free of %v", e.Addr)
	case spec.ActionSegmentAlloc:
		return fmt.Sprintf("obtained a segment of %s at %v from the driver", size, e.Addr)
	case spec.ActionSegmentFree:
		return fmt.Sprintf("returned the segment of %s at %v to the driver", size, e.Addr)
	case spec.ActionSegmentMap:
		return fmt.Sprintf("mapped %s at %v", size, e.Addr)
	case spec.ActionSegmentUnmap:
		return fmt.Sprintf("unmapped %s at %v", size, e.Addr)
	case spec.ActionOOM:
		return fmt.Sprintf("ran out of memory for %s", size)
	}
	return ""
}
