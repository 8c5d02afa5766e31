package linearizability

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// How a history becomes the input of Porcupine.
//
// # Devices
//
// Devices share nothing, so a history is linearizable if its part on each device is, and
// the parts are checked one by one. A call that concerns all devices (empty cache, a
// snapshot, settings) is not atomic over devices, and no allocator has to make it so: it
// takes effect on each device at a time of its own. This would be wrong in two cases: a
// use of memory on a stream of another device, which programs here cannot express, and an
// address that one device has after another, which the separate address ranges of the
// fake GPU exclude.
//
// # Mallocs
//
// A malloc that releases the lock becomes as many operations of Porcupine as it can have
// actions, all with the interval of the call. So all actions must take effect within the
// call, and the state keeps them in order. If a malloc needs fewer actions the remaining
// ones must follow at once: they change nothing, so no other order needs to be tried.

// mostActions is how many actions a malloc can have: search, search again, and for each of
// three attempts the driver call and what follows it.
const mostActions = 8

// action is the input of an operation of Porcupine. Its output is in the call.
type action struct {
	call   int // its index in the history
	number int // among the call's actions, from 0
	of     int // how many actions the call has
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

// specification is the model as Porcupine needs it.
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

// actions lists the calls on a device as operations of Porcupine.
func (h *History) actions(dev spec.Device) []porcupine.Operation {
	var list []porcupine.Operation
	for i := range h.Calls {
		c := &h.Calls[i]
		op, out, isOn := h.on(dev, c)
		if !isOn {
			continue
		}
		of := 1
		if kinds[c.Op.Kind].allocates && !h.Setup.Strict && (h.Setup.releasesLock() || len(h.Setup.Callback) > 0) {
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

// on is the part of a call on a device.
func (h *History) on(dev spec.Device, c *Call) (op model.Operation, out model.Outcome, isOn bool) {
	out = c.Out
	if !kinds[c.Op.Kind].allDevices && c.Op.Device != dev {
		return model.Operation{}, model.Outcome{}, false
	}
	if out.Layout != nil {
		out.Layout = slices.DeleteFunc(slices.Clone(out.Layout), func(g spec.Segment) bool { return g.Device != dev })
	}
	return model.Operation{
		Kind:   c.Op.Kind,
		Stream: spec.DeviceStream{Device: dev, Stream: h.Setup.stream(dev, c.Op.Stream)},
		Bytes:  c.Op.Bytes, Ptr: c.Ptr, Fraction: c.Op.Fraction, Settings: c.Op.Settings,
		Results: model.DriverResults{CallbackFreed: c.Freed},
	}, out, true
}

// A searchState is a state of the specification, with the progress of each malloc that has
// begun.
type searchState struct {
	state   model.State
	mallocs []mallocProgress // by call
}

// mallocProgress is the next action of a call. If the call is done its remaining actions
// change nothing.
type mallocProgress struct {
	call, next int
	done       bool
}

func (p *searchState) equal(o *searchState) bool {
	return slices.Equal(p.mallocs, o.mallocs) && p.state.Equal(o.state)
}

// An orderError says that another action must come before.
type orderError struct{}

func (orderError) Error() string { return "another action must come before" }

// step is the state after an action, or why the action cannot come next.
func (p *searchState) step(a *action) (*searchState, error) {
	at, begun := slices.BinarySearchFunc(p.mallocs, a.call, func(m mallocProgress, call int) int { return cmp.Compare(m.call, call) })
	finishing := slices.IndexFunc(p.mallocs, func(m mallocProgress) bool { return m.done })
	if finishing >= 0 && finishing != at || begun != (a.number > 0) || begun && p.mallocs[at].next != a.number {
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
