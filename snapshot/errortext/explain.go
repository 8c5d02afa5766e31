package errortext

import (
	"fmt"
	"slices"
	"strings"
)

// Explain is what the text says and what follows, in sentences.
func (m *Message) Explain() string {
	text := append([]string{m.what(), m.why(), m.bytesInWarning()}, m.where()...)
	if m.Table != nil {
		text = append(text, "Behind it: "+m.Table.what())
		text = append(text, m.Table.where()...)
	}
	text = append(text, m.advice(), m.toRecord())
	return strings.Join(slices.DeleteFunc(text, func(s string) bool { return s == "" }), " ")
}

// count is a number with its noun.
func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// onDevice names the device, if the text has it.
func (m *Message) onDevice() string {
	if m.Device < 0 {
		return ""
	}
	return fmt.Sprintf(" on device %d", m.Device)
}

func (m *Message) what() string {
	on := m.onDevice()
	switch m.Kind {
	case Summary:
		table := "A table"
		if m.tables > 1 {
			table = fmt.Sprintf("The last of %d tables", m.tables)
		}
		return fmt.Sprintf("%s of torch.cuda.memory_summary%s, with %s and %s: %s is reserved, %s of it allocated.", table, on, count(m.OOMs, "failed request", "failed requests"), count(m.Retries, "retry", "retries"), m.Reserved(), m.Allocated)
	case Warned:
		return fmt.Sprintf("No error, but a warning%s: the driver refused %d bytes when %d of %d were free. PyTorch then returns what it has cached, and asks again; if that fails too, an error follows.", on, m.Warning.Asked, m.Warning.Free, m.Warning.Total)
	case AddressSpace:
		return "Out of address space" + on + ": an expandable segment could not be reserved."
	case Nonsense:
		return "Out of memory: more than 1 EB is asked for."
	case Runtime:
		return fmt.Sprintf("%s error: out of memory. The text has no sizes.", m.Backend)
	}
	text := fmt.Sprintf("Out of memory%s: %s is asked for", on, m.Asked)
	if m.Free != nil && m.Capacity != nil {
		text += fmt.Sprintf(", and %s of %s is free", m.Free, m.Capacity)
	}
	if m.Allowed != nil && m.Kind == MPS {
		text += fmt.Sprintf("; PYTORCH_MPS_HIGH_WATERMARK_RATIO allows %s", m.Allowed)
	} else if m.Allowed != nil {
		text += fmt.Sprintf("; a memory fraction allows %s", m.Allowed)
	}
	text += "."
	switch {
	case m.least() == 1:
		text += " That is the size of a segment: the request itself is of at most 1 MiB, and larger segments do not serve it."
	case m.segment() > 0:
		text += " That is the size of a segment: the request itself may be smaller, from 1 MiB on."
	}
	return text
}

// caller names what has called the driver.
func (m *Message) caller() string {
	if m.Backend == "CUDA" || m.Backend == "HIP" {
		return "the " + m.Backend + " runtime"
	}
	return m.Backend
}

func (m *Message) why() string {
	switch m.Cause() {
	case Shortage:
		return m.whyShort()
	case Fragmentation:
		return m.whyFragmented()
	case Fraction:
		return m.whyFraction()
	case Refused:
		return "Cause: the driver refused the request, although more was free a moment later, and the text names no memory fraction. Perhaps other processes or threads freed memory in between. Otherwise that is likely on Windows (where the paging file must have room), WSL, integrated and AMD devices, devices with a largest size of one allocation, and in containers with a limit: memory that is free for the device is not free for the process."
	case NoAddresses:
		return "Cause: the process has no range of addresses left for another expandable segment. Memory of the device is not what is short, by the text."
	case TooLarge:
		return "Cause: no device has as much: likely a size that overflowed, or a wrong shape."
	case Outside:
		return "Cause: a call of " + m.caller() + " found no memory, and not one of PyTorch's allocator: likely the context, handles or workspaces of a library, CUDA graphs, NCCL, or pinned memory of the host. What PyTorch has cached does not serve these."
	case PoolAllocator:
		return "Cause: the allocator that a MemPool has of its own returned nothing, by the text. How much of the device is free need not be why."
	case NoCause:
		return ""
	}
	return m.whyUnknown()
}

func (m *Message) whyShort() string {
	text := fmt.Sprintf("Cause: a true shortage. The request is %s larger than what is left", m.missing())
	if cached := m.gathered(); m.Kind == Native && low(cached) > 0 {
		text += fmt.Sprintf(", and still %s larger if the %s that is cached could be gathered", difference(m.Asked, sum(m.free(), cached)), cached)
	}
	switch {
	case m.mayLend():
		return text + ". That holds if the driver counts all that it has: on Windows, WSL and integrated devices it may lend memory of the host."
	case !m.Sure():
		return text + ". But the request itself may be smaller than the segment."
	}
	return text + ". No setting that arranges memory in another way changes that, and that much is sure. (Requests that roundup_power2_divisions rounded up, if it is set, are smaller without it.)"
}

func (m *Message) whyFragmented() string {
	text := fmt.Sprintf("Cause: likely fragmentation. %s is cached and did not serve the request: with it the request, which is %s larger than what is left, would fit.", m.Cached, m.missing())
	text += " Before it failed PyTorch returned all cached segments that were whole, unless a CUDA graph was being captured. So the rest is parts of segments in use, of this stream or of others"
	if m.PrivateFree == nil {
		text += ", or of private pools of CUDA graphs, which messages before 2.4 do not tell apart"
	}
	return text + "."
}

func (m *Message) whyFraction() string {
	switch {
	case m.Kind == Rejected:
		return "Cause: the memory fraction. With throw_on_cudamalloc_oom the request is rejected before the driver is asked, whatever is cached."
	case m.Kind == MPS:
		return "Cause: the limit of the MPS allocator, which is none of those explained here."
	}
	likely := ""
	if !m.Sure() {
		likely = "likely "
	}
	if m.Free == nil || m.Asked.High > m.Free.Low {
		return fmt.Sprintf("Cause: %sthe memory fraction, which allows %s.", likely, m.Allowed)
	}
	return fmt.Sprintf("Cause: %sthe memory fraction, which allows %s (torch.cuda.set_per_process_memory_fraction). The device has enough free.", likely, m.Allowed)
}

func (m *Message) whyUnknown() string {
	if m.contradicts() {
		return "The sizes contradict each other: more is free, or in use, than the device has. The driver lends memory of the host (Windows, integrated devices, managed memory), or the device is a virtual one. What it still had to give does not follow from the text."
	}
	if m.Kind == Async {
		return "The text does not tell whether memory is short or in pieces: the driver's pool may hold more than is allocated."
	}
	return "The text does not tell for sure whether memory is short or in pieces."
}
