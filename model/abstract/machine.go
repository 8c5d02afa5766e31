package abstract

import "gaugeblock/model/tlc"

// A Machine is an abstract memory at small bounds. It implements explore.Specification.
type Machine struct {
	Bytes   int   // how many there are, at most 63; their addresses are from 0
	Streams int   // how many there are, at most 64; they are numbered from 1
	Sizes   []int // of requests, in bytes
}

// The labels of steps. TLC gives the steps of AbstractMemory.tla none, since the module is
// an instance there.
const (
	labelMalloc = iota
	labelNoAllocationChanges
	labelRecordStream
	labelFree
)

// Labels implements explore.Specification.
func (m *Machine) Labels() []string {
	return []string{labelMalloc: "Malloc", labelNoAllocationChanges: "NoAllocationChanges", labelRecordStream: "RecordStream", labelFree: "Free"}
}

// Initial implements explore.Specification.
func (m *Machine) Initial() []State { return []State{Initial(m.Streams)} }

// Next implements explore.Specification.
func (m *Machine) Next(s State, yield func(label int, next State)) {
	as := func(label int) func(State) { return func(next State) { yield(label, next) } }
	for stream := 1; stream <= m.Streams; stream++ {
		for _, size := range m.Sizes {
			m.malloc(s, stream, size, as(labelMalloc))
		}
	}
	m.noAllocationChanges(s, as(labelNoAllocationChanges))
	for _, x := range s.Allocations {
		m.free(s, x, as(labelFree))
		for stream := 1; stream <= m.Streams; stream++ {
			if stream != x.Stream {
				m.recordStream(s, x, stream, as(labelRecordStream))
			}
		}
	}
}

// Text appends the canonical text of a state; see tlc.CanonicalState.
func (m *Machine) Text(to []byte, s State) []byte {
	w := tlc.Writer{Text: to}
	set := func(b Bytes) {
		list := b.Addresses()
		w.Set(len(list), func(i int) { w.Int(list[i]) })
	}
	w.Raw("allocations=")
	w.Set(len(s.Allocations), func(i int) {
		x := s.Allocations[i]
		w.Raw("[memory|->")
		set(x.Memory)
		w.Raw(",stream|->")
		w.Int(x.Stream)
		w.Raw(",users|->")
		users := Bytes(x.Users).Addresses()
		w.Set(len(users), func(i int) { w.Int(users[i] + 1) })
		w.Raw("]")
	})
	w.Raw("\nbelongs=")
	w.Sequence(m.Streams, func(i int) { set(s.Belongs[i]) })
	w.Raw("\nwork=")
	w.Sequence(m.Streams, func(i int) {
		w.Sequence(len(s.Work[i]), func(j int) { set(s.Work[i][j]) })
	})
	return w.Text
}
