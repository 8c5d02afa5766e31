package errortext

import (
	"fmt"

	"gaugeblock/internal/brief"
	"gaugeblock/spec"
)

// Brief is what the text says and what follows in three lines; Explain gives the reasons.
func (m *Message) Brief() brief.Lines {
	return brief.Lines{Happened: m.briefHappened(), Cause: m.briefCause(), Try: m.briefTry()}.Fit()
}

func (m *Message) briefHappened() string {
	on := m.onDevice()
	switch m.Kind {
	case Summary:
		return fmt.Sprintf("A memory_summary%s: about %s reserved, %s allocated, %s", on, spec.FormatSize(m.Reserved().Low), m.Allocated, count(m.OOMs, "failed request", "failed requests"))
	case Warned:
		return fmt.Sprintf("A warning%s, and no error: the driver refused %s, with %s of %s free", on, m.Asked, m.Free, m.Capacity)
	case AddressSpace:
		return "Out of address space" + on
	case Nonsense:
		return "Out of memory: asked for more than 1 EB"
	case Runtime:
		return m.Backend + " error: out of memory, in a call that is none of PyTorch's allocator"
	}
	text := fmt.Sprintf("Out of memory%s: asked for %s", on, m.Asked)
	switch {
	case m.fractionBinds():
		left := m.free()
		text += fmt.Sprintf(", about %.2f GiB left of %s allowed", float64(left.Low/2+left.High/2)/float64(spec.GiB), m.Allowed)
	case m.Free != nil && m.Capacity != nil:
		text += fmt.Sprintf(", %s of %s free", m.Free, m.Capacity)
	}
	return text
}

func (m *Message) briefCause() string {
	switch m.Cause() {
	case Shortage:
		if m.Sure() {
			return fmt.Sprintf("a true shortage: %s more than is free", m.missing())
		}
		return fmt.Sprintf("likely a shortage: %s more than is free", m.missing())
	case Fragmentation:
		return fmt.Sprintf("likely fragmentation: %s is reserved but unallocated, probably in too small blocks", m.Cached)
	case Fraction:
		return m.briefFraction()
	case Refused:
		return "the driver refused it, though more was free a moment later (--why: what may be the reason)"
	case NoAddresses:
		return "no addresses for another expandable segment; memory is not what is short"
	case TooLarge:
		return "likely a size that overflowed, or a wrong shape"
	case Outside:
		return "likely a library's handle or workspace, a CUDA graph, NCCL, or pinned memory"
	case PoolAllocator:
		return "the allocator of a MemPool returned nothing"
	case NoCause:
		if m.Kind == Warned {
			return "the device was full; PyTorch then returns what it has cached, and asks again"
		}
		return ""
	}
	if m.contradicts() {
		return "cannot be told: the sizes contradict each other, as where the host's memory is lent"
	}
	return "the text does not tell whether memory is short or in pieces"
}

func (m *Message) briefFraction() string {
	switch {
	case m.Kind == Rejected:
		return "the memory fraction, whatever is cached (throw_on_cudamalloc_oom)"
	case m.Kind == MPS:
		return fmt.Sprintf("the limit of the MPS allocator, %s", m.Allowed)
	case m.Sure():
		return fmt.Sprintf("the memory fraction, which allows %s", m.Allowed)
	}
	return fmt.Sprintf("likely the memory fraction, which allows %s", m.Allowed)
}

func (m *Message) briefTry() string {
	switch m.Cause() {
	case Fragmentation:
		if m.deviceHasRoom() {
			return "a larger set_per_process_memory_fraction: the device has room; or expandable_segments:True"
		}
		if m.helps() {
			export := "export " + m.variable() + "=expandable_segments:True   # "
			if m.withoutOthers() {
				return export + "or end the other processes: --why"
			}
			return export + "if not set yet; if it is: --why"
		}
		if m.Old && m.NoExpandable == "" {
			return "PyTorch 2.1 or later with expandable_segments:True, or max_split_size_mb (see --why)"
		}
	case Shortage:
		if m.withoutOthers() {
			return "end the other processes on the device: without them it would fit"
		}
		return "smaller batches, or free memory earlier; a record tells what holds the memory"
	case Fraction:
		if m.Kind == MPS {
			return "less memory at a time, or another PYTORCH_MPS_HIGH_WATERMARK_RATIO"
		}
		return "a larger fraction, if the device is not shared, or less memory at a time"
	case NoAddresses:
		return "fewer streams, or a smaller expandable_segments_reserve"
	case TooLarge:
		return "look at the shapes of the line that failed"
	case Outside:
		return "leave more to others: torch.cuda.set_per_process_memory_fraction, or empty_cache before it"
	}
	if m.Kind == Async {
		return "record a run with backend:native from its start, and give the snapshot to gaugeblock whatif"
	}
	return record
}
