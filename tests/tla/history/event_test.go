package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"gaugeblock/model/bounded"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
)

// An Event is one action with its result.
type Event struct {
	Action string `json:"action"` // an action of tla/CachingAllocator.tla
	Args   []int  `json:"args"`   // its arguments
	// Malloc: the address, in units; -1: out of memory. Otherwise 0
	Result   int    `json:"result"`
	Reserved uint64 `json:"reserved"` // reserved memory afterwards, in units
}

// arity is how many arguments the actions have that TraceCore.tla can follow.
var arity = map[string]int{"Malloc": 2, "Free": 1, "RecordStream": 2, "Complete": 1, "EmptyCache": 0}

// NewEvent is the event of a step.
func NewEvent(label string, from, to *bounded.State) (Event, error) {
	name, arguments, err := bounded.ParseLabel(label)
	if err != nil {
		return Event{}, err
	}
	e := Event{Action: name, Args: append([]int{}, arguments...), Reserved: to.Reserved()}
	if name == "Malloc" {
		e.Result = newAddress(from, to)
	}
	return e, nil
}

// newAddress is the address in units that is allocated in to and not in from, or -1.
func newAddress(from, to *bounded.State) int {
	before := allocated(from)
	for address := range allocated(to) {
		if !before[address] {
			return int(address - bounded.AddressBase)
		}
	}
	return -1
}

func allocated(s *bounded.State) map[spec.Ptr]bool {
	addresses := map[spec.Ptr]bool{}
	for _, g := range s.Segments {
		for _, b := range g.Blocks {
			if b.State == spec.ActiveAllocated {
				addresses[b.Address] = true
			}
		}
	}
	return addresses
}

// Label is the event's label: Malloc(1,2).
func (e *Event) Label() string {
	if len(e.Args) == 0 {
		return e.Action
	}
	return fmt.Sprintf("%s(%s)", e.Action, joined(e.Args))
}

func joined(numbers []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]")
}

// Write writes a history.
func Write(w io.Writer, events []Event) error {
	encoder := json.NewEncoder(w)
	for i := range events {
		if err := encoder.Encode(&events[i]); err != nil {
			return err
		}
	}
	return nil
}

// Read reads a history. Errors in it are of type *tlc.SyntaxError.
func Read(r io.Reader, file string) (events []Event, err error) {
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.DisallowUnknownFields()
		var e Event
		if err := decoder.Decode(&e); err != nil {
			return nil, &tlc.SyntaxError{File: file, Line: number, Reason: err.Error()}
		}
		if n, known := arity[e.Action]; !known || n != len(e.Args) || decoder.More() {
			return nil, &tlc.SyntaxError{File: file, Line: number, Reason: "no action that can be followed"}
		}
		events = append(events, e)
	}
	return events, lines.Err()
}

// Module is the history as the TLA+ module TraceData.
func Module(events []Event) []byte {
	var text bytes.Buffer
	text.WriteString("---- MODULE TraceData ----\nEXTENDS Integers\n\nRecorded == <<\n")
	for i, e := range events {
		comma := ","
		if i == len(events)-1 {
			comma = ""
		}
		fmt.Fprintf(&text, "    [action |-> %q, args |-> <<%s>>, result |-> %d, reserved |-> %d]%s\n",
			e.Action, joined(e.Args), e.Result, e.Reserved, comma)
	}
	text.WriteString(">>\n====\n")
	return text.Bytes()
}

// Follow is an error if a history is no behaviour of the model.
func Follow(m bounded.Module, events []Event) error {
	state := m.Initial()[0]
	for i := range events {
		want, next, possible := step(m, state, events[i].Label())
		switch {
		case !possible:
			return fmt.Errorf("event %d: %s is not possible", i+1, events[i].Label())
		case want.Result != events[i].Result || want.Reserved != events[i].Reserved:
			return fmt.Errorf("event %d: %s: the result is %d with %d reserved, not %d with %d",
				i+1, events[i].Label(), want.Result, want.Reserved, events[i].Result, events[i].Reserved)
		}
		state = next
	}
	return nil
}

// step is the step with a label from a state, and its event.
func step(m bounded.Module, from *bounded.State, label string) (want Event, next *bounded.State, possible bool) {
	if next = bounded.Successor(m, from, label); next == nil {
		return Event{}, nil, false
	}
	want, err := NewEvent(label, from, next)
	return want, next, err == nil
}
