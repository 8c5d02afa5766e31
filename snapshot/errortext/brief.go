package errortext

import (
	"fmt"

	"gaugeblock/internal/brief"
)

// Brief is what the text says and what follows in three lines; Explain gives the reasons.
func (m *Message) Brief() brief.Lines {
	return brief.Lines{Happened: m.briefHappened(), Cause: m.briefCause(), Try: m.briefTry()}.Fit()
}

func (m *Message) briefHappened() string {
	on := ""
	if m.Device >= 0 {
		on = fmt.Sprintf(" on device %d", m.Device)
	}
	if m.Kind == Summary {
		return fmt.Sprintf("A memory_summary%s: %s reserved, %s allocated, %d failed requests", on, m.Reserved(), m.Allocated, m.OOMs)
	}
	text := fmt.Sprintf("Out of memory%s: asked for %s", on, m.Asked)
	if m.Free != nil && m.Capacity != nil {
		text += fmt.Sprintf(", %s of %s free", m.Free, m.Capacity)
	}
	return text
}

func (m *Message) briefCause() string {
	switch m.Cause() {
	case Shortage:
		return fmt.Sprintf("a true shortage: %s more than what is left", difference(m.Asked, m.free()))
	case Fragmentation:
		return fmt.Sprintf("fragmentation: %s is cached, in pieces", m.Cached)
	case Fraction:
		return "the memory fraction, whatever is cached (throw_on_cudamalloc_oom)"
	case Refused:
		return "the driver refused it though more is free, as on Windows, WSL, AMD and in containers"
	case NoCause:
		return ""
	}
	return "the text does not tell whether memory is short or in pieces"
}

func (m *Message) briefTry() string {
	const record = "record the run from its start, and give the snapshot to gaugeblock whatif"
	switch m.Cause() {
	case Fragmentation:
		if m.Backend == "CUDA" {
			return "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (if it is not set: see --why)"
		}
	case Shortage:
		if o := m.Elsewhere(); m.Process != nil && o.Low > low(difference(m.Asked, m.free())) {
			return "end the other processes on the device: without them it would fit"
		}
		return "smaller batches, or free memory earlier; a record tells what holds the memory"
	}
	return record
}
