package abstract

import "gaugeblock/model/tlc"

// A Machine is an abstract memory at small bounds, on one device. It implements
// explore.Specification.
type Machine struct {
	Bytes   int   // how many there are, at most 63; their addresses are from 0
	Streams int   // how many there are, at most 64; they are numbered from 1
	Sizes   []int // of requests, in bytes
	Graphs  int   // how many there are
	Names   int   // how many allocations the program can hold, for Next; their names are from 0
	Align   int   // memory begins at a multiple of it; 0 is 1
	Room    int   // how many bytes the driver can grant
	Work    int   // how many pieces a queue has at most, for Next
}

// The labels of steps. TLC gives the steps of AbstractMemory.tla none, since the module is
// an instance there.
const (
	labelMalloc = iota
	labelNoAllocationChanges
	labelRecordStream
	labelFree
	labelLaunch
	labelGraph
)

// Labels implements explore.Specification.
func (m *Machine) Labels() []string {
	return []string{
		labelMalloc: "Malloc", labelNoAllocationChanges: "NoAllocationChanges", labelRecordStream: "RecordStream",
		labelFree: "Free", labelLaunch: "Launch", labelGraph: "Graph",
	}
}

// Initial implements explore.Specification.
func (m *Machine) Initial() []State { return []State{Initial(m.Streams, m.Graphs)} }

// Next implements explore.Specification.
func (m *Machine) Next(s State, yield func(label int, next State)) {
	as := func(label int) func(State) { return func(next State) { yield(label, next) } }
	for stream := 1; stream <= m.Streams; stream++ {
		for _, size := range m.Sizes {
			m.malloc(s, stream, size, as(labelMalloc))
		}
	}
	m.after(s, s.Queues, as(labelNoAllocationChanges))
	for _, x := range s.Held {
		m.free(s, x, as(labelFree))
		for stream := 1; stream <= m.Streams; stream++ {
			if stream != x.Stream {
				m.recordStream(s, x, stream, as(labelRecordStream))
			}
			if stream == x.Stream || x.Users.Has(stream) {
				m.launch(s, x, stream, as(labelLaunch))
			}
		}
	}
	for i := range s.Graphs {
		m.graph(s, i, as(labelGraph))
	}
}

// Text appends the canonical text of a state; see tlc.CanonicalState.
func (m *Machine) Text(to []byte, s State) []byte {
	w := tlc.Writer{Text: to}
	set := func(list []int) { w.Set(len(list), func(i int) { w.Int(list[i]) }) }
	streams := func(u Users) {
		list := Bytes(u).Addresses()
		w.Set(len(list), func(i int) { w.Int(list[i] + 1) })
	}
	w.Raw("granted=")
	w.Set(len(s.Granted), func(i int) { set(s.Granted[i].Addresses()) })
	w.Raw("\ngraphs=")
	w.Sequence(len(s.Graphs), func(i int) {
		w.Raw("[memory|->")
		set(s.Graphs[i].Memory.Addresses())
		w.Raw(",streams|->")
		streams(s.Graphs[i].Streams)
		w.Raw("]")
	})
	w.Raw("\nheld=")
	m.heldText(&w, s, set, streams)
	w.Raw("\nqueues=")
	w.Sequence(m.Streams, func(i int) {
		w.Sequence(len(s.Queues[i]), func(j int) {
			p := s.Queues[i][j]
			w.Raw("[behind|->")
			w.Sequence(len(p.Behind), func(k int) { w.Int(p.Behind[k]) })
			w.Raw(",uses|->")
			set(p.Uses.Addresses())
			w.Raw("]")
		})
	})
	return w.Text
}

// heldText appends the function from names to what the program holds. If the names are 1..n TLC
// prints a sequence.
func (m *Machine) heldText(w *tlc.Writer, s State, set func([]int), streams func(Users)) {
	record := func(x Allocation) {
		w.Raw("[memory|->")
		set(x.Memory.Addresses())
		w.Raw(",stream|->")
		w.Int(x.Stream)
		w.Raw(",users|->")
		streams(x.Users)
		w.Raw("]")
	}
	isSequence := true
	for i, x := range s.Held {
		isSequence = isSequence && x.Name == i+1
	}
	if isSequence {
		w.Sequence(len(s.Held), func(i int) { record(s.Held[i]) })
		return
	}
	w.Raw("(")
	for i, x := range s.Held {
		if i > 0 {
			w.Raw("@@")
		}
		w.Int(x.Name)
		w.Raw(":>")
		record(x)
	}
	w.Raw(")")
}
