package check

import (
	"fmt"
	"io"
	"os"

	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/internal/memlimit"
	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
	"gaugeblock/spec/trace"
)

// Options says what is looked at beside what every log is held to, and what the log does
// not say itself.
type Options struct {
	// Reference, if given, makes an allocator that does the same program with the same
	// driver. The first decision in which it departs is a violation.
	Reference perform.Factory
	// Live: memory may be allocated at the end.
	Live bool
	// Alignment, if not 0, is what every address has to be a multiple of, in bytes.
	Alignment uint64
	// NeedlessCalls: it is a violation to ask the driver for memory while a freed
	// allocation would do.
	NeedlessCalls bool
	// Races: it is a violation as well if two pieces of work on one allocation are not in
	// order.
	Races bool

	// StreamOrdered: to allocate and to free is work on the stream that the operation
	// names, as with cudaMallocAsync and cudaFreeAsync.
	StreamOrdered bool
	// BlockingStreams: streams that are not created in the log wait for the legacy default
	// stream, and it for them.
	BlockingStreams bool
	// PerThreadDefault: stream 0 is the default stream of the thread, as in programs that
	// are compiled so, and not the legacy one.
	PerThreadDefault bool

	// MaxMemory bounds what the process keeps in memory, in bytes; 0: memlimit.Default.
	MaxMemory uint64
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
	budget := memlimit.New(o.MaxMemory)
	for {
		op, err := log.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = c.operation(op)
		}
		if err == nil {
			if excess := budget.Check(); excess != nil {
				err = c.bad("%v", excess)
			}
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
	given    *written
	program  *perform.Player // performs events and graphs
	roomy    *trace.Header   // its header: of devices that lack no memory
	gpu      *fakegpu.GPU
	streams  streams
	memory   memory
	known    *happensbefore.Clock // what the thread that allocated last knew then; see shared
	driver   driver
	idle     *freeMemory // nil unless Options.NeedlessCalls
	hazards  int         // that were added
	worked   bool        // there has been work that touched memory
	reads    touched     // by the present work; so are writes
	writes   touched
	shown    shown
	reported map[reported]bool
	lockstep *lockstep
	op       *trace.Op // the present one
}

// addressSpace is more than any device's addresses need. Devices here have so much
// memory that none is ever lacking: what the real one refused, the log says.
const addressSpace = 1 << 62

func newChecker(log source, name string, o Options) (*checker, error) {
	h := log.Header()
	roomy := *h
	roomy.TotalMemory, roomy.Waits, roomy.Threads, roomy.Streams = addressSpace, false, 0, nil
	roomy.Geometry = spec.DefaultGeometry()
	player, err := perform.New(&roomy, func(spec.Driver, *trace.Header) (spec.Allocator, error) {
		return nobody{}, nil
	})
	if err != nil {
		return nil, &trace.Error{File: name, Line: 1, Reason: err.Error(), Err: err}
	}
	c := &checker{
		options: o, result: Result{File: name, Violations: []Violation{}}, header: h, given: log.written(),
		program: player, roomy: &roomy, gpu: player.GPU(), memory: newMemory(), streams: newStreams(),
		reported: map[reported]bool{},
	}
	c.gpu.ExpectManyStreams()
	c.gpu.ExpectStrangers()
	c.gpu.WithoutEffects()
	if o.Races {
		c.gpu.ReportRaces()
	}
	if o.NeedlessCalls {
		c.idle = newFreeMemory()
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
	c.result.add(Violation{Line: c.op.Line, Kind: kind}, format, args...)
}

// operation does one again. What the driver did is done where it was: before memory is
// allocated, and after it was freed.
func (c *checker) operation(op *trace.Op) error {
	c.op = op
	c.gpu.At(op.Thread, op.Line)
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
	does := treatments[op.Kind.Memory()]
	if op.Expect.Error != "" {
		does = treatment{}
	}
	if does.before != nil {
		does.before(c, op)
	}
	if err := c.driver.did(op); err != nil || does.behind == nil {
		return err
	}
	return does.behind(c, op)
}

// addHazards adds what the device has noticed since the last operation.
func (c *checker) addHazards() {
	if c.gpu.HazardCount() == c.hazards {
		return
	}
	hazards := c.gpu.Hazards()
	for _, h := range hazards[c.hazards:] {
		c.hazard(h)
	}
	c.hazards = len(hazards)
}
