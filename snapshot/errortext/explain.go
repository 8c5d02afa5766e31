package errortext

import (
	"fmt"
	"strings"

	"gaugeblock/spec"
)

// Cause says why a request failed, as far as the text tells.
type Cause string

// The causes.
const (
	NoCause       Cause = "none"          // no request failed: a summary
	Shortage      Cause = "shortage"      // more is asked for than is free and cached together
	Fragmentation Cause = "fragmentation" // what is cached would do in one piece
	Fraction      Cause = "fraction"      // a memory fraction refused it
	Refused       Cause = "refused"       // the driver refused although enough is free
	Unknown       Cause = "unknown"
)

// Cause draws the conclusions that hold for every size that is rounded to the text.
func (m *Message) Cause() Cause {
	if m.Kind == Summary {
		return NoCause
	}
	free, cached := m.free(), sum(m.Cached, m.PrivateFree)
	switch {
	case m.Kind == Rejected:
		return Fraction
	case free == nil:
		return Unknown
	case m.Asked.Low > free.High+high(cached):
		return Shortage
	case m.Asked.High <= free.Low && m.Allowed != nil:
		return Unknown // the limit is not what refused it
	case m.Asked.High <= free.Low:
		return Refused
	case m.Asked.Low > free.High && m.Kind == Native && m.Asked.High <= free.Low+low(m.Cached):
		return Fragmentation
	}
	return Unknown
}

// free is what the driver, or a memory fraction, still gives.
func (m *Message) free() *Size {
	left := difference(m.Allowed, m.Reserved())
	if left == nil || m.Free != nil && m.Free.High < left.Low {
		return m.Free
	}
	return left
}

// Reserved is what the allocator has of the device.
func (m *Message) Reserved() *Size {
	if m.Allocated == nil || m.Cached == nil && m.Kind != Async {
		return nil
	}
	return sum(m.Allocated, m.Cached, m.PrivateFree)
}

// Outside is what this process has outside of the allocator: the context, NCCL, libraries.
func (m *Message) Outside() *Size { return difference(m.Process, m.Reserved()) }

// Elsewhere is what other processes have, or together with what is outside of the allocator
// where the text does not tell them apart.
func (m *Message) Elsewhere() *Size {
	if m.Process != nil {
		return difference(m.Capacity, sum(m.Free, m.Process))
	}
	if m.Free == nil || m.Reserved() == nil {
		return nil
	}
	return difference(m.Capacity, sum(m.Free, m.Reserved()))
}

func high(s *Size) uint64 {
	if s == nil {
		return 0
	}
	return s.High
}

func low(s *Size) uint64 {
	if s == nil {
		return 0
	}
	return s.Low
}

// String is a size as the text has it, or the middle of its range with its precision.
func (s *Size) String() string {
	if s.text != "" {
		return s.text
	}
	if s.High-s.Low < spec.MiB {
		return spec.FormatSize(s.Low + (s.High-s.Low)/2)
	}
	return fmt.Sprintf("%.2f GiB (to within %s)", float64(s.Low/2+s.High/2)/float64(spec.GiB), spec.FormatSize((s.High-s.Low+1)/2))
}

// Explain is what the text says and what follows, in sentences.
func (m *Message) Explain() string {
	text := append([]string{m.what(), m.why()}, m.where()...)
	return strings.Join(append(text, m.advice()), " ")
}

func (m *Message) what() string {
	on := ""
	if m.Device >= 0 {
		on = fmt.Sprintf(" on device %d", m.Device)
	}
	if m.Kind == Summary {
		return fmt.Sprintf("A table of torch.cuda.memory_summary%s, with %d failed requests and %d retries: %s is reserved, %s of it allocated.", on, m.OOMs, m.Retries, m.Reserved(), m.Allocated)
	}
	text := fmt.Sprintf("Out of memory%s: %s is asked for", on, m.Asked)
	if m.Free != nil && m.Capacity != nil {
		text += fmt.Sprintf(", and %s of %s is free", m.Free, m.Capacity)
	}
	if m.Allowed != nil {
		text += fmt.Sprintf("; a memory fraction allows %s", m.Allowed)
	}
	return text + "."
}

func (m *Message) why() string {
	free := m.free()
	switch m.Cause() {
	case Shortage:
		text := fmt.Sprintf("Cause: a true shortage. The request is %s larger than what is left", difference(m.Asked, free))
		if cached := sum(m.Cached, m.PrivateFree); cached != nil && cached.Low > 0 {
			text += fmt.Sprintf(", and still %s larger if the %s that is cached could be gathered", difference(m.Asked, sum(free, cached)), cached)
		}
		return text + ". No setting of the allocator changes that: that much is sure."
	case Fragmentation:
		return fmt.Sprintf("Cause: fragmentation. %s is cached in pieces: with it the request, which is %s larger than what is left, would fit. Before it failed PyTorch returned all cached segments that were whole, so these are parts of segments in use, or memory that other streams still used.", m.Cached, difference(m.Asked, free))
	case Fraction:
		return "Cause: the memory fraction. With throw_on_cudamalloc_oom the request is rejected before the driver is asked, whatever is cached."
	case Refused:
		return "Cause: the driver refused the request although more is free than is asked for, and the text names no memory fraction. That happens on Windows, WSL, integrated and AMD devices and in containers with a limit, where memory that is free for the device is not free for the process. No setting of the allocator changes that."
	case NoCause:
		return ""
	}
	return "The text does not tell for sure whether memory is short or in pieces."
}

// where says where the memory is.
func (m *Message) where() (text []string) {
	if m.Kind == Summary {
		if m.CachedWhole != nil {
			text = append(text, fmt.Sprintf("%s is cached: empty_cache would return %s of it, which is in whole segments; the rest is in segments that are in use.", m.Cached, m.CachedWhole))
		}
		return text
	}
	if m.Allocated != nil && m.Cached != nil {
		text = append(text, fmt.Sprintf("The allocator has %s: %s allocated, %s cached.", m.Reserved(), m.Allocated, m.Cached))
	}
	if m.PrivateFree != nil {
		text = append(text, fmt.Sprintf("%s is free in private pools (CUDA graphs, MemPools), which serve no other requests; the message calls it allocated.", m.PrivateFree))
	}
	if o := m.Outside(); o != nil {
		text = append(text, fmt.Sprintf("%s of this process is outside of PyTorch's allocator: the context, NCCL, libraries.", o))
	}
	switch o := m.Elsewhere(); {
	case o == nil:
	case m.Process != nil:
		text = append(text, fmt.Sprintf("Other processes have about %s of the device.", o))
	default:
		text = append(text, fmt.Sprintf("%s of the device is neither free nor the allocator's: the context, libraries and other processes; the message does not tell them apart.", o))
	}
	return text
}

// advice says what is likely to help, and what to record.
func (m *Message) advice() string {
	const record = "To see what holds the memory, and what other settings would do, record the run from its start (torch.cuda.memory._record_memory_history(), then _dump_snapshot) and give the snapshot to gaugeblock whatif."
	notCUDA := ""
	if m.Backend != "CUDA" {
		notCUDA = fmt.Sprintf("This is a message of %s; what is said of the allocator is that of CUDA. ", m.Backend)
	}
	switch m.Cause() {
	case Fragmentation:
		return notCUDA + "Likely to help: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PYTORCH_ALLOC_CONF since 2.9; PyTorch 2.1 or later), if it is not set already, the system is not Windows, and nothing shares the memory with other processes by CUDA IPC. " + record
	case Shortage:
		if o := m.Elsewhere(); m.Process != nil && o.Low > low(difference(m.Asked, m.free())) {
			return notCUDA + "Without the other processes the request would fit. " + record
		}
		return notCUDA + "What helps is smaller batches, memory that is freed earlier, or a larger device. " + record
	}
	return notCUDA + record
}
