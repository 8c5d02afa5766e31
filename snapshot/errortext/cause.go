package errortext

import "gaugeblock/spec"

// Cause says why a request failed, as far as the text tells.
type Cause string

// The causes.
const (
	NoCause       Cause = "none"           // no request failed: a summary
	Shortage      Cause = "shortage"       // more is asked for than is free and cached together
	Fragmentation Cause = "fragmentation"  // what is cached would do, but did not serve the request
	Fraction      Cause = "fraction"       // a memory fraction refused it
	Refused       Cause = "refused"        // the driver refused although more was free a moment later
	NoAddresses   Cause = "address space"  // for an expandable segment
	PoolAllocator Cause = "pool allocator" // the allocator of a MemPool returned nothing
	TooLarge      Cause = "nonsense"       // no device has as much
	Outside       Cause = "outside"        // CUDA refused memory that is not the allocator's
	Unknown       Cause = "unknown"
)

// Cause draws the conclusions that hold for every size that is rounded to the text.
func (m *Message) Cause() Cause {
	switch m.Kind {
	case Summary, Warned:
		return NoCause
	case Rejected, MPS:
		return Fraction
	case AddressSpace:
		return NoAddresses
	case Nonsense:
		return TooLarge
	case Runtime:
		return Outside
	}
	if m.CustomPool {
		return PoolAllocator
	}
	if m.contradicts() || m.free() == nil || m.leftOut {
		return Unknown
	}
	if m.Kind == Async {
		return m.asyncCause()
	}
	return m.nativeCause()
}

func (m *Message) nativeCause() Cause {
	free, cached := m.free(), m.gathered()
	switch {
	case m.Allowed != nil && m.Asked.High <= low(m.Free) && m.Asked.Low > free.High+high(cached):
		return Fraction // the device had enough
	case above(m.Asked, m.Capacity), cached != nil && m.Asked.Low > free.High+high(cached):
		return Shortage
	case m.Asked.High <= free.Low && m.Allowed == nil && m.Cached != nil: // the text does not end before a limit
		return Refused
	case m.Asked.Low > free.High && m.Asked.High <= free.Low+low(m.Cached):
		return Fragmentation
	case m.Allowed != nil && m.Asked.High <= low(m.Free):
		return Fraction // the device had enough
	}
	return Unknown
}

// asyncCause: what is cached is not in the text. The driver's pool has it.
func (m *Message) asyncCause() Cause {
	switch {
	case above(m.Asked, difference(m.Capacity, m.Allocated)):
		return Shortage
	case m.Allowed != nil && above(m.Asked, difference(m.Allowed, m.Allocated)):
		return Fraction
	case m.Asked.High <= m.Free.Low && m.unlimited:
		return Refused
	}
	return Unknown
}

// Sure reports whether a cause follows from the sizes: for a shortage that no arrangement of the
// memory would have served the request.
func (m *Message) Sure() bool {
	switch m.Cause() {
	case Shortage:
		return m.least() > high(m.free())+high(m.gathered()) && !m.mayLend()
	case Fraction:
		return m.Kind != Native || m.Asked.Low+low(m.Reserved()) > m.Allowed.High
	case NoAddresses, TooLarge:
		return true
	}
	return false
}

// gathered is what would be free beside what is, if all that is cached were gathered.
func (m *Message) gathered() *Size {
	if m.Kind == Async {
		return difference(difference(m.Capacity, m.Allocated), m.Free)
	}
	if m.Cached == nil { // the text ends before it
		return nil
	}
	return sum(m.Cached, m.PrivateFree)
}

// least is how large the request is at least. The text has the size of the segment: 2 MiB for
// requests of at most 1 MiB, and 20 MiB for those of 1 to 10 MiB.
func (m *Message) least() uint64 {
	switch m.segment() {
	case 2 * spec.MiB:
		return 1
	case 20 * spec.MiB:
		return spec.MiB
	}
	return m.Asked.Low
}

// segment is the size of a segment that serves smaller requests, if the text has one; else 0.
func (m *Message) segment() uint64 {
	if m.Kind != Native || m.Asked == nil {
		return 0
	}
	switch m.Asked.text {
	case "2.00 MiB":
		return 2 * spec.MiB
	case "20.00 MiB":
		return 20 * spec.MiB
	}
	return 0
}

// contradicts reports whether the sizes cannot all be of memory of the device.
func (m *Message) contradicts() bool {
	return above(m.Free, m.Capacity) || above(m.Reserved(), m.Capacity) || above(m.Process, m.Capacity) || above(sum(m.Free, m.Reserved()), m.Capacity)
}

// mayLend reports whether the driver may have memory that the text does not count: that of the
// host, or of an integrated device. Windows tells 0 bytes free, and lends the host's.
func (m *Message) mayLend() bool {
	return m.Backend != "CUDA" || m.headless || m.Windows || m.lends || m.hidesProcess || m.Free != nil && m.Free.High == 0
}

// free is what the driver, or a memory fraction, still gives. Messages of XPU before 2.12 do not have
// it: it is at most what the allocator does not have of the device.
func (m *Message) free() *Size {
	left := difference(m.Allowed, m.Reserved())
	rest := difference(m.Capacity, m.Reserved())
	switch {
	case left == nil && m.Free == nil && rest != nil && m.Kind == Native:
		return &Size{High: rest.High}
	case left == nil || m.Free != nil && m.Free.High < left.Low:
		return m.Free
	}
	return left
}

// fractionBinds reports whether a memory fraction leaves less than the device has free.
func (m *Message) fractionBinds() bool {
	return m.Kind == Native && m.Allowed != nil && m.free() != nil && m.free() != m.Free
}

// deviceHasRoom reports whether the device had enough free for a request that a memory fraction
// kept from it.
func (m *Message) deviceHasRoom() bool {
	return m.fractionBinds() && m.Asked.High <= low(m.Free)
}

// missing is by how much the request is larger than what is left.
func (m *Message) missing() *Size { return difference(m.Asked, m.free()) }
