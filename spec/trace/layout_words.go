package trace

import (
	"fmt"

	"gaugeblock/spec"
)

// EntryInWords is a trace entry in words: "alloc 0x1000, 512 bytes, stream default".
func EntryInWords(e spec.TraceEntry) string {
	if e.Action == spec.ActionOOM {
		text := fmt.Sprintf("oom for %s, stream %v", SizeInWords(e.Size), e.Stream)
		if e.Addr != 0 {
			text += fmt.Sprintf(", %s free on the device", SizeInWords(uint64(e.Addr)))
		}
		return text
	}
	return fmt.Sprintf("%v %v, %s, stream %v", e.Action, e.Addr, SizeInWords(e.Size), e.Stream)
}

// segmentInWords leaves out what is the same for most: device 0, the default pool.
func segmentInWords(s *spec.Segment) string {
	kind := s.PoolKind.String()
	if s.Expandable {
		kind += " expandable"
	}
	text := fmt.Sprintf("%s segment %v of %s, stream %v, allocated %d, active %d, requested %d",
		kind, s.Address, SizeInWords(s.TotalSize), s.Stream, s.AllocatedSize, s.ActiveSize, s.RequestedSize)
	if !s.Pool.IsDefault() {
		text += fmt.Sprintf(", pool %v", s.Pool)
	}
	if s.Device != 0 {
		text += fmt.Sprintf(", device %d", s.Device)
	}
	return text
}

func blockInWords(b spec.Block) string {
	return fmt.Sprintf("block %v of %s, requested %d, %v", b.Address, SizeInWords(b.Size), b.RequestedSize, b.State)
}

// LayoutInLines writes each segment and each block on a line of its own.
func LayoutInLines(layout []spec.Segment) []string {
	var lines []string
	for i := range layout {
		lines = append(lines, segmentInWords(&layout[i]))
		for _, b := range layout[i].Blocks {
			lines = append(lines, "  "+blockInWords(b))
		}
	}
	return lines
}
