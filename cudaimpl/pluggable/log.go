package pluggable

import (
	"bufio"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// The log: every call of the program as an operation of a trace, with what it returned
// and what the allocator did, so that "gaugeblock replay" performs it again and compares.
//
// A trace says in its first line which streams there are, and that is known only at the
// end. So operations go to a file of their own first (the trace's name with ".part"), and
// the trace is written from it when the log is closed: all of it, or nothing.
//
// The filter of a pool that requests are routed to cannot be looked into. But it is seen
// which requests it accepts: in the trace the pool serves those of a thread of its own, by
// number, and the requests that it has accepted are that thread's. All others are thread
// 0's.
//
// Work on the device is not in the log. Memory that other streams use becomes free when
// they get there, which cannot be seen from calls; so from the first record_stream on the
// log says what was asked, and no longer what came of it.

// opLog is a log under way. Operations are performed one at a time while it is kept, so
// that it has them in the order in which they happened.
type opLog struct {
	path   string
	header trace.Header

	mu       sync.Mutex
	part     *os.File
	buffer   *bufio.Writer
	encoder  *gob.Encoder
	ids      map[spec.Ptr]int64 // of what is allocated
	next     int64
	written  int
	compared int  // of them, those that say what came of them
	shared   bool // a stream was recorded: later ones do not
	closed   bool

	op       *trace.Op // under way
	silent   bool      // it is not to be written
	observed []spec.TraceEntry
	ranges   []spec.Range
	routed   spec.Thread // whose pool served the request
	begun    spec.Thread // BeginAllocateToPool so far
}

// newLog begins a log.
func newLog(path string, d Device, settings string, release upstream.Release) (*opLog, error) {
	properties, err := d.Properties(0)
	if err != nil {
		return nil, err
	}
	part, err := os.Create(path + ".part")
	if err != nil {
		return nil, err
	}
	l := &opLog{
		path: path, part: part, buffer: bufio.NewWriter(part), ids: map[spec.Ptr]int64{},
		header: trace.Header{
			Source: "libgaugeblock", Release: release.Name, DeviceName: properties.Name, TotalMemory: properties.TotalMemory,
			Devices: d.DeviceCount(), Settings: settings, Family: "log", Streams: []spec.Stream{0},
		},
	}
	l.encoder = gob.NewEncoder(l.buffer)
	return l, nil
}

// write performs an operation and writes it.
func (l *opLog) write(op *trace.Op, perform func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.op, l.silent, l.observed, l.ranges, l.routed = op, false, []spec.TraceEntry{}, nil, 0
	err := perform()
	op.Thread = l.routed
	if op.Kind == trace.OpRecordStream {
		l.shared = true
	}
	op.Expect.Entries, op.Expect.AddressRanges, op.Expect.Error = l.observed, l.ranges, trace.ErrorName(err)
	if l.shared {
		op.Expect = trace.Expectation{Error: op.Expect.Error}
	}
	l.op = nil
	if l.silent || l.closed {
		return err
	}
	l.written++
	if !l.shared {
		l.compared = l.written
	}
	return errors.Join(err, l.encoder.Encode(op))
}

// observe adds what the allocator did during an operation.
func (l *opLog) observe(e spec.TraceEntry) {
	if l.op != nil {
		l.observed = append(l.observed, e)
	}
}

// reserved adds an address range that the driver has returned during an operation. The trace
// entries have it only once pages are mapped in it.
func (l *opLog) reserved(dev spec.Device, r spec.Range) {
	if l.op != nil && dev == l.op.Device {
		l.ranges = append(l.ranges, r)
	}
}

// stream is the index of a stream.
func (l *opLog) stream(s spec.Stream) int {
	i := slices.Index(l.header.Streams, s)
	if i < 0 {
		i = len(l.header.Streams)
		l.header.Streams = append(l.header.Streams, s)
	}
	return i
}

// watchFilter makes of the filter of a BeginAllocateToPool one that is seen. The filters
// are asked from the one begun last on, until one accepts.
func (l *opLog) watchFilter(accepts spec.RequestFilter) spec.RequestFilter {
	l.begun++
	number := l.begun
	l.routed = number
	return func(r spec.Request) bool {
		accepted := accepts(r)
		if accepted && r.Bytes > 0 {
			l.routed = number
		}
		return accepted
	}
}

// returned says what the malloc under way has returned.
func (l *opLog) returned(p spec.Ptr, err error) {
	l.op.ID = l.next
	l.next++
	if err == nil && p != 0 {
		l.ids[p] = l.op.ID
		l.op.Expect.Addr = &p
	}
	l.silent = err == nil && p == 0 // no bytes
}

// about says which memory the operation under way is about. What is not allocated has no
// place in a trace.
func (l *opLog) about(p spec.Ptr, freed bool) {
	id, allocated := l.ids[p]
	l.op.ID, l.silent = id, !allocated
	if freed {
		delete(l.ids, p)
	}
}

// close writes the trace. What happens afterwards is not in it.
func (l *opLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	defer os.Remove(l.part.Name())
	defer l.part.Close()
	if err := l.buffer.Flush(); err != nil {
		return err
	}
	if _, err := l.part.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return l.assemble(gob.NewDecoder(bufio.NewReader(l.part)))
}

// assemble writes the trace from the operations.
func (l *opLog) assemble(ops *gob.Decoder) error {
	file, err := os.CreateTemp(filepath.Dir(l.path), "."+filepath.Base(l.path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // in vain once it has its name
	defer file.Close()
	tr, err := trace.NewWriter(file, l.header)
	if err != nil {
		return err
	}
	for i := range l.written {
		var op trace.Op
		if err := ops.Decode(&op); err != nil {
			return err
		}
		if i < l.compared && op.Expect.Entries == nil {
			// gob does not distinguish an empty slice from nil
			op.Expect.Entries = []spec.TraceEntry{}
		}
		if err := tr.Write(&op); err != nil {
			return err
		}
	}
	if err := errors.Join(tr.Close(&trace.End{}), file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), l.path)
}
