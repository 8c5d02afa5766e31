package torch

import (
	"math/bits"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// hash is what PyTorch's tables go by: that of a stream of a CUDA device, times the factor
// of their kind. The largest bits say where in a table an entry is.
func hash(dev spec.Device, s spec.Stream) uint64 {
	const cudaType, factor = 1, 11400714819323198485
	return (cudaType<<56 | uint64(dev)<<48 | uint64(s)&(1<<48-1)) * factor
}

// orderedStreams finds n handles for streams of a device, ascending behind a handle, that lie
// in a table in that same order and behind the default stream, as far as two do not meet in
// one place of a small table. The reference goes by handle.
func orderedStreams(dev spec.Device, n int, behind spec.Stream) []spec.Stream {
	first := hash(dev, 0)
	step := (^uint64(0) - first) / uint64(n+1)
	var list []spec.Stream
	for i := range n {
		// In the second half of its share, away from where the shares meet.
		from := first + uint64(i+1)*step
		for behind += 0x100; hash(dev, behind) < from || hash(dev, behind) > from+step/2; {
			behind += 0x100
		}
		list = append(list, behind)
	}
	return list
}

// Conditions are what all programs of a search have in common.
type Conditions struct {
	Release  string  // of PyTorch, whose rules the reference follows
	Settings *string // if given, they take the place of those of the area
	Length   int     // operations of a program
	Every    int     // operations between two looks at the layout
}

// header sets up a program of the kind that can be compared: the device lets streams catch
// up when somebody waits for them, as hardware does, and for half of the seeds, whatever their remainders
// by 4 and 8 (avoider, exposes), it places memory as hardware does.
func (c *Conditions) header(h *trace.Header) {
	if c.Settings != nil {
		h.Settings = *c.Settings
	}
	h.Release = c.Release
	h.RealAddresses = bits.OnesCount64(uint64(h.Seed))%2 == 1
	setUp(h)
}

func setUp(h *trace.Header) {
	h.Settings = knownSettings(withReserve(h), rulesOf(h).Settings)
	h.Waits = true
	h.Source = "gaugeblock torch"
	each := (len(h.Streams) - 1) / h.Devices
	latest := spec.Stream(0x5000_0000_0000)
	for dev := range h.Devices {
		for i, s := range orderedStreams(spec.Device(dev), each, latest) {
			h.Streams[1+dev*each+i] = s
			latest = s
		}
	}
}

// Outcome is what came of one program.
type Outcome struct {
	Header     trace.Header
	Operations int
	Ops        []trace.Op  // if there is a difference
	Difference *Difference // nil: there is none
	Row        string      // the ID of the deviation that explains it; "": none does
	Listed     map[string]int
	Every      int    // operations between two looks at the layout
	Scale      string // the configuration whose scale the devices follow; "": none
}

// A maker makes up the operations of a program.
type maker struct {
	source   *conformance.Source
	header   *trace.Header
	avoider  *avoider
	switcher *streamSwitcher
}

func newMaker(source *conformance.Source, h trace.Header, seed uint64) *maker {
	return &maker{source, &h, newAvoider(h, seed), newStreamSwitcher(&h, seed)}
}

// make makes up an operation; false if it is left out.
func (m *maker) make(op *trace.Op) bool {
	m.source.Make(op)
	fit(op, m.header)
	m.switcher.switchCurrent(op)
	return !m.avoider.avoids(op)
}

// did records what came of it.
func (m *maker) did(op *trace.Op, out *perform.Result) {
	m.avoider.did(op, out)
	m.source.Did(op, out)
}

// Run makes up a program of an area and performs it on both. told hears before each
// operation which it is. room, if given, is where the operations are kept that are not
// returned: the next program can have it.
func Run(area *conformance.Area, seed uint64, c Conditions, told func(operation int), room *[]trace.Op) (Outcome, error) {
	length := c.Length
	source, h := area.NewSource(conformance.Seeded(seed), seed, c.header)
	pair, err := NewPair(h, c.Every)
	if err != nil {
		return Outcome{}, err
	}
	prepare(source.Program(), &h)
	pair.Watch(source.Program())
	o := Outcome{Header: h, Listed: pair.Listed, Every: c.Every}
	if room != nil && cap(*room) >= length {
		o.Ops, *room = (*room)[:0], nil
	} else {
		o.Ops = make([]trace.Op, 0, length)
	}
	made := newMaker(source, h, seed)
	for len(o.Ops) < length {
		o.Ops = o.Ops[:len(o.Ops)+1] // there is room for all: they stay where they are
		op := &o.Ops[len(o.Ops)-1]
		if !made.make(op) {
			o.Ops = o.Ops[:len(o.Ops)-1]
			continue
		}
		told(len(o.Ops))
		did, difference := pair.Step(op)
		o.Operations++
		if difference != nil {
			o.Difference = difference
			o.Row, err = explain(&o)
			return o, err
		}
		made.did(op, did)
	}
	if what, our, their := pair.CompareLayouts(); what != "" {
		o.Difference = &Difference{Operation: len(o.Ops), Op: "end", What: what, Reference: our, PyTorch: their}
		o.Row, err = explain(&o)
		return o, err
	}
	if room != nil {
		*room = o.Ops
	}
	o.Ops = nil
	return o, nil
}

// Perform performs the operations of a program that make sense when it is their turn, and
// returns those up to the first difference, with what PyTorch did as what is expected. The layout
// is looked at after each.
func Perform(area *conformance.Area, h trace.Header, ops []trace.Op, told func(operation int)) (Outcome, error) {
	return performLooking(area, h, ops, 1, told)
}

// performLooking is Perform with a look at the layout at regular intervals.
func performLooking(area *conformance.Area, h trace.Header, ops []trace.Op, every int, told func(operation int)) (Outcome, error) {
	pair, err := NewPair(h, every)
	if err != nil {
		return Outcome{}, err
	}
	h = pair.header
	program := newProgram(area, h)
	pair.Watch(program)
	h.StatColumns = figureNames
	o := Outcome{Header: h, Listed: pair.Listed, Every: every}
	for _, op := range ops {
		op.Expect = trace.Expectation{}
		if !program.Prepare(&op) {
			continue
		}
		o.Ops = append(o.Ops, op)
		told(len(o.Ops))
		did, difference := pair.Step(&op)
		pair.record(&o.Ops[len(o.Ops)-1])
		o.Operations++
		if difference != nil {
			o.Difference = difference
			o.Row, err = explain(&o)
			return o, err
		}
		program.Did(&op, did)
	}
	return o, nil
}
