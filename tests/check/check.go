package check

import (
	"fmt"
	"io"
	"os"

	"github.com/dustin/go-humanize/english"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tests/replay"
)

// Options says what is looked at beside what every log is held to.
type Options struct {
	// Reference, if given, makes an allocator that does the same program with the same
	// driver. The first decision in which it departs is a violation.
	Reference replay.Factory
	// Live: memory may be allocated at the end.
	Live bool
}

// File checks the log in a file. The error is one of opening it, or Reader's.
func File(path string, o Options) (*Result, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Reader(file, path, o)
}

// Reader checks the log that is read from r; name is what it is called in the result and
// in errors. A log that cannot be read to its end is a *trace.Error, and nothing is
// said of the rest.
func Reader(r io.Reader, name string, o Options) (*Result, error) {
	log, err := open(r, name)
	if err != nil {
		return nil, err
	}
	c, err := newChecker(log, name, o)
	if err != nil {
		return nil, err
	}
	for {
		op, err := log.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = c.operation(op)
		}
		if err != nil {
			return nil, err
		}
	}
	c.finish(log.ended())
	return &c.result, nil
}

// checker is a log being checked.
type checker struct {
	options  Options
	result   Result
	header   *trace.Header
	roomy    *trace.Header  // the same, of devices that lack no memory
	program  *replay.Player // performs streams, events and graphs
	gpu      *fakegpu.GPU
	memory   memory
	driver   driver
	hazards  int // that were added
	lockstep *lockstep
	op       *trace.Op // the present one
}

// addressSpace is more than any device's addresses need. Devices here have so much
// memory that none is ever lacking: what the real one refused, the log says.
const addressSpace = 1 << 62

func newChecker(log source, name string, o Options) (*checker, error) {
	h := log.Header()
	roomy := *h
	roomy.TotalMemory = addressSpace
	player, err := replay.NewPlayer(&roomy, func(spec.Driver, *trace.Header) (spec.Allocator, error) {
		return nobody{}, nil
	})
	if err != nil {
		return nil, &trace.Error{File: name, Line: 1, Reason: err.Error(), Err: err}
	}
	c := &checker{
		options: o, result: Result{File: name, Violations: []Violation{}}, header: h, roomy: &roomy,
		program: player, gpu: player.GPU(), memory: newMemory(),
	}
	c.driver = newDriver(c)
	if o.Reference != nil {
		if c.lockstep, err = newLockstep(h, o.Reference); err != nil {
			return nil, &trace.Error{File: name, Line: 1, Reason: "the reference: " + err.Error(), Err: err}
		}
	}
	return c, nil
}

// nobody is the allocator of the player, which is never asked for memory.
type nobody struct {
	spec.Allocator
	spec.PrivatePools
}

// bad makes the error of a log that makes no sense at the present operation.
func (c *checker) bad(format string, args ...any) error {
	return &trace.Error{File: c.result.File, Line: c.op.Line, Reason: fmt.Sprintf(format, args...)}
}

func (c *checker) violation(kind Kind, format string, args ...any) {
	c.result.add(c.op.Line, kind, format, args...)
}

// operation does one again. What the driver did is done where it was: before memory is
// allocated, and after it was freed.
func (c *checker) operation(op *trace.Op) error {
	c.op, c.roomy.Streams = op, c.header.Streams // a table may have named another one
	if op.Kind != "" {
		c.result.Operations++
	}
	err := c.perform(op)
	c.addHazards()
	if c.lockstep != nil && err == nil {
		c.compare(op)
	}
	return err
}

func (c *checker) perform(op *trace.Op) error {
	does, some := treatments[op.Kind.Memory()]
	if !some || op.Expect.Error != "" {
		return c.driver.did(op)
	}
	if does.first {
		if err := does.do(c, op); err != nil {
			return err
		}
		return c.driver.did(op)
	}
	if err := c.driver.did(op); err != nil {
		return err
	}
	return does.do(c, op)
}

// addHazards adds what the device has noticed since the last operation. These
// operations run no work by themselves, and there are many of them.
func (c *checker) addHazards() {
	switch c.op.Kind {
	case trace.OpFree, trace.OpFreeOn, trace.OpRecordStream, trace.OpWaitStream, trace.OpRecordEvent, trace.OpWaitEvent:
		if len(c.op.Expect.Entries) == 0 {
			return
		}
	}
	hazards := c.gpu.Hazards()
	for _, h := range hazards[c.hazards:] {
		kind, text := inWords(h)
		c.violation(kind, "%s", text)
	}
	c.hazards = len(hazards)
}

func inWords(h fakegpu.Hazard) (Kind, string) {
	switch h.Kind {
	case fakegpu.AllocatedTwice:
		return Overlap, h.Missing
	case fakegpu.NoMemory:
		return NoMemory, h.Missing
	}
	return Hazard, h.String()
}

// finish looks what is left over.
func (c *checker) finish(whole bool) {
	left := c.memory.byAge()
	switch {
	case c.options.Live || len(left) == 0:
	case !whole:
		c.note("the log has no end, so what is allocated at its end (%s) is no leak", english.Plural(len(left), "allocation", ""))
	default:
		for _, a := range left {
			c.result.add(a.line, Leak, "%d bytes at %v were allocated here and never freed", a.bytes, a.ptr)
		}
	}
	if c.driver.silent {
		c.note("the log has no driver calls, so every address counted as memory")
	}
}

func (c *checker) note(format string, args ...any) {
	c.result.Notes = append(c.result.Notes, fmt.Sprintf(format, args...))
}
