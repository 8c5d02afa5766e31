package linearizability

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// A Counterexample is a history that is not linearizable. History.Command reproduces it.
type Counterexample struct {
	History *History
	Device  spec.Device
	// Ordered is the longest prefix of an order that the specification allows.
	Ordered []Call
	// State is the specification's state after it, of that device.
	State model.State
	// Stuck has, for each call that could come next in time, why it cannot.
	Stuck []Objection
}

// Objection is why a call cannot take effect in a state.
type Objection struct {
	Call   Call
	Reason error
}

// Error describes the history and the objections.
func (x *Counterexample) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "not linearizable:\n%s\n", x.History.Command())
	fmt.Fprintf(&text, "what happened:\n%v", x.History)
	text.WriteString("in order as far as possible:\n")
	for i := range x.Ordered {
		fmt.Fprintf(&text, "    %s %v: %s\n", threadName(x.Ordered[i].Thread), x.Ordered[i].Text, x.Ordered[i].result())
	}
	text.WriteString("after which:\n")
	for _, o := range x.Stuck {
		fmt.Fprintf(&text, "    %s %v: %v\n", threadName(o.Call.Thread), o.Call.Text, o.Reason)
	}
	if header, ops, err := x.History.Trace(); err == nil {
		fmt.Fprintf(&text, "as a trace:\n%s", formatTrace(header, ops))
	}
	return text.String()
}

// explain finds the longest prefix of an order.
func explain(h *History, dev spec.Device, initial *world, part []porcupine.Operation) error {
	_, info := porcupine.CheckOperationsVerbose(specification(initial), part, 0)
	var longest []porcupine.Operation
	for _, order := range info.PartialLinearizationsOperations()[0] { // in random order
		if longest == nil || compareOrders(order, longest) < 0 {
			longest = order
		}
	}
	x := &Counterexample{History: h, Device: dev}
	at := initial
	ordered := map[*action]bool{}
	for _, o := range longest {
		a := o.Input.(*action)
		ordered[a] = true
		if a.number == 0 {
			x.Ordered = append(x.Ordered, h.Calls[a.call])
		}
		at, _ = at.step(a)
	}
	x.State = at.devices[0]
	x.Stuck = h.objections(at, part, ordered)
	return x
}

// compareOrders puts longer orders first, and among equally long ones those in the order of
// the calls' beginnings.
func compareOrders(a, b []porcupine.Operation) int {
	return cmp.Or(cmp.Compare(len(b), len(a)), slices.CompareFunc(a, b, func(x, y porcupine.Operation) int {
		p, q := x.Input.(*action), y.Input.(*action)
		return cmp.Or(cmp.Compare(p.call, q.call), cmp.Compare(p.number, q.number))
	}))
}

// objections has the reasons why no remaining action can come next: of those that begin
// before any of them has ended.
func (h *History) objections(at *world, part []porcupine.Operation, ordered map[*action]bool) (list []Objection) {
	left := slices.Clone(part)
	left = slices.DeleteFunc(left, func(o porcupine.Operation) bool { return ordered[o.Input.(*action)] })
	for _, o := range left {
		a := o.Input.(*action)
		overtaken := slices.ContainsFunc(left, func(other porcupine.Operation) bool { return other.Return < o.Call })
		if _, err := at.step(a); !overtaken && err != nil && !errors.Is(err, orderError{}) {
			list = append(list, Objection{h.Calls[a.call], err})
		}
	}
	return list
}
