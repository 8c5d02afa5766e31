package linearizability

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gaugeblock/internal/sizes"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A Program is what the threads do.
//
//	before: malloc x 20MiB
//	A: malloc a 2MiB stream=1; record_stream a stream=2; free a
//	B: free x; stats
//	after: malloc b 2MiB
//
// Allocations, checkpoints and opened memory have names, which all threads share. An operation on a
// name that nothing has is left out. One on a name that was freed is not, so that a pointer can be
// freed twice.
type Program struct {
	Before  []Op   // done before the threads begin
	Threads [][]Op // A, B, C...
	After   []Op   // done when the threads have ended
}

// An Op is an operation of a thread. The kinds are in kinds.go: some of those of traces, and
// the queries of package model.
type Op struct {
	Kind trace.OpKind
	// of what the operation makes or uses: an allocation, a checkpoint, opened memory
	Name     string
	Bytes    uint64  // malloc
	Fraction float64 // set_memory_fraction
	Settings string  // configure; enable, record_history: on or off; set_user_metadata: the text
	Stream   int     // malloc, record_stream, busy, drain, pool_begin: 0 is the default stream
	Device   spec.Device
	Pool     int // the private pool
	Handle   int // open_shared: which handle of the other process
	On       int // record_stream: the stream is one of device On-1; 0: of the allocation's device
}

// ParseProgram reads a program in the form above. Errors name the line.
func ParseProgram(text string) (Program, error) {
	var p Program
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		label, rest, _ := strings.Cut(line, ":")
		ops, err := parseOps(rest)
		switch {
		case err != nil:
			return Program{}, fmt.Errorf("line %d: %w", i+1, err)
		case label == "before" && len(p.Threads) == 0:
			p.Before = append(p.Before, ops...)
		case label == "after" && len(p.Threads) > 0:
			p.After = append(p.After, ops...)
		case label == threadName(len(p.Threads)) && len(p.After) == 0:
			p.Threads = append(p.Threads, ops)
		default:
			return Program{}, fmt.Errorf("line %d: %q is neither the next thread, %s, nor what comes before them", i+1, label, threadName(len(p.Threads)))
		}
	}
	return p, nil
}

func parseOps(text string) ([]Op, error) {
	var ops []Op
	for part := range strings.SplitSeq(text, ";") {
		op, err := parseOp(strings.Fields(part))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", strings.TrimSpace(part), err)
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func parseOp(words []string) (op Op, err error) {
	if len(words) == 0 {
		return Op{}, fmt.Errorf("an operation is missing")
	}
	op.Kind = trace.OpKind(words[0])
	kind, known := kinds[op.Kind]
	if !known {
		return Op{}, fmt.Errorf("there is no such operation")
	}
	words = words[1:]
	next := func(wanted bool) (word string) {
		if wanted && len(words) > 0 {
			word, words = words[0], words[1:]
		}
		return word
	}
	op.Name = next(kind.makes || kind.uses)
	op.Settings = next(kind.args.settings)
	if kind.args.bytes {
		if op.Bytes, err = sizes.Parse(next(true)); err != nil {
			return Op{}, err
		}
	}
	if kind.args.fraction {
		if op.Fraction, err = strconv.ParseFloat(next(true), 64); err != nil {
			return Op{}, err
		}
	}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi(value)
		switch {
		case err == nil && key == "stream" && kind.args.stream:
			op.Stream = n
		case err == nil && key == "device":
			op.Device = spec.Device(n)
		case err == nil && key == "pool" && kind.args.pool:
			op.Pool = n
		case err == nil && key == "handle" && kind.args.handle:
			op.Handle = n
		case err == nil && key == "on" && kind.args.on:
			op.On = n + 1
		default:
			return Op{}, fmt.Errorf("%q does not belong there", word)
		}
	}
	return op, nil
}

// String writes an operation as it is read.
func (op Op) String() string {
	kind := kinds[op.Kind]
	text := string(op.Kind)
	if kind.makes || kind.uses {
		text += " " + op.Name
	}
	if kind.args.settings {
		text += " " + op.Settings
	}
	if kind.args.bytes {
		text += " " + sizes.Format(op.Bytes)
	}
	if kind.args.fraction {
		text += " " + strconv.FormatFloat(op.Fraction, 'g', -1, 64)
	}
	if op.Stream != 0 {
		text += fmt.Sprintf(" stream=%d", op.Stream)
	}
	if op.Device != 0 {
		text += fmt.Sprintf(" device=%d", op.Device)
	}
	if kind.args.pool {
		text += fmt.Sprintf(" pool=%d", op.Pool)
	}
	if kind.args.handle {
		text += fmt.Sprintf(" handle=%d", op.Handle)
	}
	if op.On != 0 {
		text += fmt.Sprintf(" on=%d", op.On-1)
	}
	return text
}

// String writes a program as it is read.
func (p Program) String() string {
	var lines []string
	line := func(label string, ops []Op) {
		var words []string
		for _, op := range ops {
			words = append(words, op.String())
		}
		lines = append(lines, label+": "+strings.Join(words, "; "))
	}
	if len(p.Before) > 0 {
		line("before", p.Before)
	}
	for i, ops := range p.Threads {
		line(threadName(i), ops)
	}
	if len(p.After) > 0 {
		line("after", p.After)
	}
	return strings.Join(lines, "\n")
}

// all are the operations of the program.
func (p *Program) all() []Op {
	return slices.Concat(p.Before, slices.Concat(p.Threads...), p.After)
}

// coupled reports whether the devices must be checked together: work on a stream of another device
// is waited for, or something is used that belongs to no device.
func (p *Program) coupled() bool {
	return slices.ContainsFunc(p.all(), func(op Op) bool {
		return op.On != 0 || kinds[op.Kind].object
	})
}

// togglesCaching reports whether some memory is allocated uncached.
func (p *Program) togglesCaching() bool {
	return slices.ContainsFunc(p.all(), func(op Op) bool { return op.Kind == trace.OpEnable })
}

// setsLockRelease reports whether an operation changes release_lock_on_cudamalloc. The
// scheduler must know when the lock is held.
func (p *Program) setsLockRelease() bool {
	sets := func(op Op) bool { return strings.Contains(op.Settings, "release_lock") }
	return slices.ContainsFunc(p.all(), sets)
}
