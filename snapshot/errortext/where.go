package errortext

import (
	"fmt"

	"gaugeblock/spec"
)

// Reserved is what the allocator has of the device. What is free in private pools is part of
// what the text calls allocated. The text of cudaMallocAsync does not tell what its pool has
// beside what is allocated.
func (m *Message) Reserved() *Size {
	if m.Allocated == nil || m.Cached == nil && m.Kind != Async {
		return nil
	}
	return sum(m.Allocated, m.Cached)
}

// inUse is what is allocated in truth.
func (m *Message) inUse() *Size {
	if m.PrivateFree == nil {
		return m.Allocated
	}
	return difference(m.Allocated, m.PrivateFree)
}

// Outside is what this process has outside of the allocator: the context, NCCL, libraries.
func (m *Message) Outside() *Size {
	if m.Kind == Async || m.contradicts() || above(m.Reserved(), m.Process) {
		return nil
	}
	return difference(m.Process, m.Reserved())
}

// Elsewhere is what other processes and the driver have, or together with what is outside of the
// allocator where the text does not tell them apart.
func (m *Message) Elsewhere() *Size {
	switch {
	case m.contradicts() || above(m.Reserved(), m.Process):
		return nil
	case m.Process != nil && m.Free != nil:
		return difference(m.Capacity, sum(m.Free, m.Process))
	case m.Free == nil || m.Reserved() == nil:
		return nil
	}
	return difference(m.Capacity, sum(m.Free, m.Reserved()))
}

// driversOwn is more than what the driver keeps of a device for itself, in bytes. Less that is
// neither free nor this process's need not be another process's, unless the text names one.
const driversOwn = spec.GiB

// withoutOthers reports whether the request would fit if no other process had memory.
func (m *Message) withoutOthers() bool {
	o := m.Elsewhere()
	return m.Process != nil && m.Allowed == nil && o != nil && o.Low > 0 && o.Low >= high(m.missing()) &&
		(len(m.Processes) > 0 || o.Low >= driversOwn)
}

// where says where the memory is.
func (m *Message) where() (text []string) {
	if m.Kind == Summary {
		return m.inTable()
	}
	if m.Kind == MPS {
		return []string{fmt.Sprintf("%s is allocated by PyTorch, and %s by others of this process.", m.Allocated, m.Cached)}
	}
	if m.Allocated != nil && m.Cached != nil {
		text = append(text, fmt.Sprintf("The allocator has %s: %s allocated, %s cached.", m.Reserved(), m.inUse(), m.Cached))
	}
	if m.PrivateFree != nil {
		text = append(text, fmt.Sprintf("%s is free in private pools (CUDA graphs, MemPools), which serve no other requests; the message calls it allocated.", m.PrivateFree))
	}
	if o := m.Outside(); o != nil {
		text = append(text, fmt.Sprintf("%s of this process is outside of PyTorch's allocator: the context, NCCL, libraries.", o))
	}
	return append(append(text, m.elsewhere()...), m.processes()...)
}

func (m *Message) elsewhere() []string {
	o := m.Elsewhere()
	switch {
	case o == nil:
		return nil
	case m.Process != nil:
		return []string{fmt.Sprintf("Other processes, and the driver itself, have %s of the device.", o)}
	case m.Kind == Async:
		return []string{fmt.Sprintf("%s of the device is neither free nor allocated by PyTorch: what the driver's pool holds in pieces, the context, libraries and other processes; the message does not tell them apart.", o)}
	}
	return []string{fmt.Sprintf("%s of the device is neither free nor the allocator's: the context, libraries and other processes; the message does not tell them apart.", o)}
}

// processes says what the text says of processes. In a container PyTorch does not know its own
// number, and names itself as another process.
func (m *Message) processes() (text []string) {
	for _, p := range m.Processes {
		line := fmt.Sprintf("The text names process %d, with %s.", p.ID, p.Size)
		if over := difference(p.Size, m.Reserved()); m.Process == nil && over != nil && p.Size.High >= m.Reserved().Low {
			line += fmt.Sprintf(" It may be this one, as in a container; then %s of it is outside of the allocator.", over)
		}
		text = append(text, line)
	}
	return text
}

func (m *Message) inTable() []string {
	if m.CachedWhole == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s is cached: empty_cache would return %s of it, which is in whole segments; the rest is in segments that are in use.", m.Cached, m.CachedWhole)}
}
