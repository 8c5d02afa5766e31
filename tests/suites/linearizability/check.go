package linearizability

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"

	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// From a history to Porcupine's question.
//
// # Devices
//
// Devices share nothing, so a history is linearizable if its part on each device
// is, and the parts are checked one by one. A call that concerns all devices
// (emptying the cache, a snapshot, settings) is not one moment for all of them, nor
// is it promised to be: each part has its own. Two things would make this wrong: a
// use of memory on a stream of another device, which programs here cannot express,
// and an address that wanders from one device to another, which the fake GPU's
// separate windows rule out.
//
// # Mallocs
//
// A malloc for which the lock is released becomes as many operations of
// Porcupine's as it can have actions, all with the interval of the call. So the
// moments of all actions must lie within the call, and the state keeps them in
// order. A malloc that needs fewer passes the rest over, at once: that changes
// nothing, so it need not be tried anywhere else.

// mostActions is how many actions a malloc can have: search, search again, and for
// each of three attempts the driver's answer and what follows from it.
const mostActions = 8

// action is the input of an operation of Porcupine's. Its output is in the call.
type action struct {
	call   int // its index in the history
	number int // of this call's actions, from 0
	of     int
	op     model.Operation
	out    model.Outcome
}

// Check decides whether a history is linearizable; if not the error is a
// *Counterexample.
func Check(h *History) error {
	for dev := range spec.Device(h.Setup.Devices) {
		initial, err := h.Setup.initial(dev)
		if err != nil {
			return err
		}
		part := h.actions(dev)
		if !porcupine.CheckOperations(specification(initial), part) {
			return explain(h, dev, initial, part)
		}
	}
	return nil
}

// specification puts the model into Porcupine's form.
func specification(initial model.State) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return &searchState{state: initial} },
		Step: func(state, input, _ any) (bool, any) {
			next, err := state.(*searchState).step(input.(*action))
			return err == nil, next
		},
		Equal: func(a, b any) bool { return a.(*searchState).equal(b.(*searchState)) },
	}
}

// actions lists what happened on a device, as operations.
func (h *History) actions(dev spec.Device) []porcupine.Operation {
	var list []porcupine.Operation
	for i := range h.Calls {
		c := &h.Calls[i]
		op, out, concerned := h.on(dev, c)
		if !concerned {
			continue
		}
		of := 1
		if c.Op.Kind == trace.OpMalloc && !h.Setup.Strict && (h.Setup.releasesLock() || len(h.Setup.Callback) > 0) {
			of = mostActions
		}
		for n := range of {
			list = append(list, porcupine.Operation{
				ClientId: c.Thread + 1, Call: c.Begin, Return: c.End,
				Input: &action{call: i, number: n, of: of, op: op, out: out},
			})
		}
	}
	return list
}

// on is a call as it concerns a device.
func (h *History) on(dev spec.Device, c *Call) (op model.Operation, out model.Outcome, concerned bool) {
	out = c.Out
	switch c.Op.Kind {
	case trace.OpEmptyCache, trace.OpConfigure:
	case model.OpSnapshot:
		out.Layout = slices.Clone(out.Layout)
		out.Layout = slices.DeleteFunc(out.Layout, func(g spec.Segment) bool { return g.Device != dev })
	default:
		if c.Op.Device != dev {
			return model.Operation{}, model.Outcome{}, false
		}
	}
	return model.Operation{
		Kind:   c.Op.Kind,
		Stream: spec.DeviceStream{Device: dev, Stream: h.Setup.stream(dev, c.Op.Stream)},
		Bytes:  c.Op.Bytes, Ptr: c.Ptr, Fraction: c.Op.Fraction, Settings: c.Op.Settings,
		Results: model.DriverResults{CallbackFreed: c.Freed},
	}, out, true
}

// A point is a state of the specification, with how far each malloc has come that
// has begun.
type searchState struct {
	state   model.State
	mallocs []mallocProgress // by call
}

// progress: which action of a call comes next. A call that is done has only to
// pass over the rest.
type mallocProgress struct {
	call, next int
	done       bool
}

func (p *searchState) equal(o *searchState) bool {
	return slices.Equal(p.mallocs, o.mallocs) && p.state.Equal(o.state)
}

// An orderError says that an action's turn has not come.
type orderError struct{}

func (orderError) Error() string { return "its turn has not come" }

// step is the point after an action, or why the action cannot be there.
func (p *searchState) step(a *action) (*searchState, error) {
	at, begun := slices.BinarySearchFunc(p.mallocs, a.call, func(m mallocProgress, call int) int { return cmp.Compare(m.call, call) })
	passing := slices.IndexFunc(p.mallocs, func(m mallocProgress) bool { return m.done })
	if passing >= 0 && passing != at || begun != (a.number > 0) || begun && p.mallocs[at].next != a.number {
		return nil, orderError{}
	}
	if a.of == 1 {
		next, err := p.state.Step(a.op, a.out)
		return &searchState{next, p.mallocs}, err
	}
	next := &searchState{p.state, slices.Clone(p.mallocs)}
	if !begun {
		next.mallocs = slices.Insert(next.mallocs, at, mallocProgress{call: a.call})
	}
	m := &next.mallocs[at]
	var err error
	switch {
	case m.done:
	case a.number == 0:
		next.state, m.done, err = p.state.BeginMalloc(a.call, a.op, a.out)
	default:
		next.state, m.done, err = p.state.ResumeMalloc(a.call, a.op, a.out)
	}
	m.next++
	if m.next == a.of {
		next.mallocs = slices.Delete(next.mallocs, at, at+1)
	}
	return next, err
}
