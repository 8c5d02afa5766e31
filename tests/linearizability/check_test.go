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
// the parts are checked one by one. Devices are one part where that is not so: memory is used on a
// stream of another device, or something belongs to no device (Program.coupled). A call that
// concerns all devices (empty cache, a snapshot, settings) is not atomic over devices, and no
// allocator has to make it so: it takes effect on each device at a time of its own. An
// address cannot be that of one device after another, since the fake GPU's devices have separate
// address ranges.
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
	call    int // its index in the history
	number  int // among the call's actions, from 0
	of      int // how many actions the call has
	device  int // its index in the part
	history *History
	from    *Call
	op      model.Operation
	out     model.Outcome
}

// parts are the devices that are checked together.
func (h *History) parts() (parts [][]spec.Device) {
	for dev := range spec.Device(h.Setup.Devices) {
		if dev == 0 || !h.Program.coupled() {
			parts = append(parts, nil)
		}
		last := &parts[len(parts)-1]
		*last = append(*last, dev)
	}
	return parts
}

// Check decides whether a history is linearizable; if not the error is a
// *Counterexample.
func Check(h *History) error {
	if h.Setup.Unjudged {
		return nil
	}
	for _, devices := range h.parts() {
		initial := &world{numbers: devices, uncaching: h.Setup.Uncached}
		for _, dev := range devices {
			state, err := h.Setup.initial(dev)
			if err != nil {
				return err
			}
			initial.devices = append(initial.devices, state)
		}
		part := h.actions(devices)
		if !porcupine.CheckOperations(specification(initial), part) {
			return explain(h, devices[0], initial, part)
		}
	}
	return nil
}

// specification is the world as Porcupine needs it.
func specification(initial *world) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, input, _ any) (bool, any) {
			next, err := state.(*world).step(input.(*action))
			return err == nil, next
		},
		Equal: func(a, b any) bool { return a.(*world).equal(b.(*world)) },
	}
}

// actions lists the calls on some devices as operations of Porcupine.
func (h *History) actions(devices []spec.Device) []porcupine.Operation {
	var list []porcupine.Operation
	for i := range h.Calls {
		c := &h.Calls[i]
		for at, dev := range devices {
			op, out, isOn := h.on(dev, c)
			if !isOn {
				continue
			}
			of := h.actionsOf(c)
			for n := range of {
				list = append(list, porcupine.Operation{
					ClientId: c.Thread + 1, Call: c.Begin, Return: c.End,
					Input: &action{call: i, number: n, of: of, device: at, history: h, from: c, op: op, out: out},
				})
			}
		}
	}
	return list
}

// actionsOf is how many actions a call can have. Where caching can be off, a malloc reads first
// whether it is on.
func (h *History) actionsOf(c *Call) int {
	of := 1
	if !kinds[c.Op.Kind].allocates || h.Setup.Strict {
		return of
	}
	if h.Setup.releasesLock() || h.Setup.hasCallbacks() {
		of = mostActions
	}
	if h.Setup.Uncached || h.Program.togglesCaching() {
		of = mostActions + 1
	}
	return of
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
	stream := c.Op.streamOf(&h.Setup)
	if kinds[c.Op.Kind].allDevices {
		stream.Device = dev
	}
	return model.Operation{
		Kind: c.Op.Kind, Stream: stream,
		Bytes: c.Op.Bytes, Ptr: c.Ptr, Fraction: c.Op.Fraction, Settings: c.Op.Settings,
		Results: model.DriverResults{CallbackFreed: c.Freed},
	}, out, true
}

// mallocProgress is the next action of a call. If the call is done its remaining actions
// change nothing.
type mallocProgress struct {
	call, next int
	begun      bool // the model has it among its pending mallocs
	uncached   bool
	done       bool
}

// An orderError says that another action must come before.
type orderError struct{}

func (orderError) Error() string { return "another action must come before" }

// step is the world after an action, or why the action cannot come next.
func (w *world) step(a *action) (*world, error) {
	at, begun := slices.BinarySearchFunc(w.mallocs, a.call, func(m mallocProgress, call int) int { return cmp.Compare(m.call, call) })
	finishing := slices.IndexFunc(w.mallocs, func(m mallocProgress) bool { return m.done })
	if finishing >= 0 && finishing != at || begun != (a.number > 0) || begun && w.mallocs[at].next != a.number {
		return nil, orderError{}
	}
	next := w.copy()
	var err error
	if a.of > 1 {
		if !begun {
			next.mallocs = slices.Insert(next.mallocs, at, mallocProgress{call: a.call})
		}
		err = next.stepMalloc(a, &next.mallocs[at])
		if next.mallocs[at].next == a.of {
			next.mallocs = slices.Delete(next.mallocs, at, at+1)
		}
	} else if judge := kinds[a.op.Kind].judge; judge != nil {
		err = judge(next, a.device, a)
	} else {
		err = next.stepModel(a.device, a)
	}
	if len(next.devices) > 1 {
		next.spreadWork(a.device)
	}
	return next, err
}

// stepModel is the model's Step on a device.
func (w *world) stepModel(device int, a *action) (err error) {
	w.devices[device], err = w.devices[device].Step(a.op, a.out)
	return err
}

// stepMalloc is one of several actions of a malloc.
func (w *world) stepMalloc(a *action, m *mallocProgress) (err error) {
	state := &w.devices[a.device]
	m.next++
	switch {
	case m.done:
	case m.uncached:
		m.done = true
		return w.judgeUncached(a)
	case a.of > mostActions && a.number == 0:
		m.uncached = w.uncaching
	case m.begun:
		*state, m.done, err = state.ResumeMalloc(a.call, a.op, a.out)
	default:
		m.begun = true
		*state, m.done, err = state.BeginMalloc(a.call, a.op, a.out)
	}
	return err
}

// spreadWork tells every device what one knows of the work of streams: all devices' memory can
// be used on each of them.
func (w *world) spreadWork(from int) {
	for _, stream := range w.devices[from].Streams {
		for i := range w.devices {
			there := w.devices[i].StreamOf(stream.ID)
			for range stream.Completed + len(stream.Work) - there.Completed - len(there.Work) {
				w.devices[i] = w.devices[i].Busy(stream.ID)
			}
			for range stream.Completed - there.Completed {
				w.devices[i] = w.devices[i].Complete(stream.ID)
			}
		}
	}
}
