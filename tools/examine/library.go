package examine

import (
	"fmt"

	"gaugeblock/conformance"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// allocator is a library as a spec.Allocator, with what PyTorch's CUDAPluggableAllocator adds
// to it: it knows what is allocated, and passes the size, the device and the stream of an
// allocation to the function that frees. Statistics and snapshots there are none.
type allocator struct {
	subject  subject
	contract Contract
	devices  int
	header   *trace.Header
	live     map[spec.Ptr]allocation
	requests int // that were made for memory
	gpu      *fakegpu.GPU
	warm     []uint64 // bytes of each device after a first request; nil: it was not made

	complaint conformance.Complaint // about the latest call
	words     string
}

// allocation is what a free is told.
type allocation struct {
	bytes  uint64
	device spec.Device
	stream spec.Stream
}

// newAllocator begins a new process with the library, for one program.
func (x *examination) newAllocator(driver spec.Driver, h *trace.Header) (_ spec.Allocator, err error) {
	defer func() {
		switch gone := recover().(type) {
		case nil:
		case *conformance.Gone:
			err = fmt.Errorf("the allocator cannot begin: %w", gone)
		default:
			panic(gone)
		}
	}()
	gpu, fake := driver.(*fakegpu.GPU)
	if !fake {
		return nil, &spec.NotSupportedError{Op: "new allocator", Reason: fmt.Sprintf("a library runs on a fake GPU, not on a %T", driver)}
	}
	if x.contract.Blocking {
		gpu.SetAllBlocking()
	}
	if err := x.subject.begin(gpu); err != nil {
		return nil, err
	}
	a := &allocator{subject: x.subject, contract: x.contract, devices: h.Devices, header: h, gpu: gpu, live: map[spec.Ptr]allocation{}}
	if x.contract.Warm {
		return a, a.warmUp()
	}
	return a, nil
}

// warmUp makes a request of each device, and remembers what is held when all is freed.
func (a *allocator) warmUp() error {
	for dev := range spec.Device(a.devices) {
		p, err := a.Malloc(spec.Request{Device: dev, Bytes: 512})
		if err == nil {
			err = a.Free(p)
		}
		if err != nil {
			return err
		}
	}
	if err := a.EmptyCache(); err != nil {
		return err
	}
	for dev := range spec.Device(a.devices) {
		a.warm = append(a.warm, a.gpu.InUse(dev))
	}
	return nil
}

// Keeps implements conformance.Keeper.
func (a *allocator) Keeps() []uint64 { return a.warm }

func (a *allocator) device(op string, dev spec.Device) error {
	if dev < 0 || int(dev) >= a.devices {
		return &spec.InvalidArgumentError{Op: op, Reason: fmt.Sprintf("there is no device %d, only %d of them", dev, a.devices)}
	}
	return nil
}

// call makes a call, and remembers what it has left behind in the calling thread.
func (a *allocator) call(m message) (words [8]uint64, exception string) {
	before := a.currentAt(&m)
	outside := a.gpu.InAllocator()
	defer outside()
	words, exception = a.subject.call(m)
	a.complaint, a.words = conformance.ComplaintNone, ""
	left := words[leftWord]
	lastError, pushed, device := int32(left>>32), int16(left>>16), int(int16(left))-1
	switch refused := a.subject.refused(); {
	case refused != "":
		a.complaint, a.words = conformance.ComplaintRefused, refused+", in a call of "+m.inWords()
	case left == 0 || m.Type == orderReset || m.Type == orderSleep || m.Type == orderWake || m.Type == orderEnd:
	case pushed != 0:
		a.complaint, a.words = conformance.ComplaintDevice, fmt.Sprintf("after %s, %+d contexts are pushed", m.inWords(), pushed)
	case device >= 0 && device != before:
		a.complaint, a.words = conformance.ComplaintDevice, fmt.Sprintf("%s was called with device %d current, and left device %d", m.inWords(), before, device)
	case lastError != 0 && (exception != "" || m.Type != orderFree && m.Type != orderRecordStream && words[0] == 0):
		// who is told of a failure looks for the error
	case lastError != 0:
		a.complaint, a.words = conformance.ComplaintError, fmt.Sprintf("after %s, cudaPeekAtLastError is %d (%s)", m.inWords(), lastError, a.subject.leaves())
	}
	return words, exception
}

// leftWord is where an answer has the thread's last error, how many contexts are pushed that were not, and the
// current device plus 1.
const leftWord = 7

// currentAt is the device that is current when a call is made.
func (a *allocator) currentAt(m *message) int {
	switch m.Type {
	case orderMalloc, orderMallocAligned, orderFree, orderResize:
		return int(m.Words[4])
	case orderRecordStream:
		return int(m.Words[2])
	}
	return 0
}

func (m *message) inWords() string {
	switch m.Type {
	case orderMalloc, orderMallocAligned:
		return "the function that allocates"
	case orderResize:
		return "resize"
	case orderFree:
		return "the function that frees"
	case orderReset, orderSleep, orderWake, orderEnd:
		return namesOfOrders[m.Type]
	}
	return "record_stream"
}

// Complaint implements conformance.Complainer.
func (a *allocator) Complaint() (conformance.Complaint, string) { return a.complaint, a.words }

// threw is the error of a call that has thrown an exception.
func threw(call, exception string) error {
	return &spec.DriverError{Call: call, Name: "exception", Detail: exception}
}

// Malloc calls the function that allocates. The null pointer, or an exception, says that
// there is no memory.
func (a *allocator) Malloc(r spec.Request) (spec.Ptr, error) { return a.ask(r, 0) }

func (a *allocator) ask(r spec.Request, align uint64) (spec.Ptr, error) {
	a.requests++
	if err := a.device("malloc", r.Device); err != nil {
		return 0, err
	}
	if r.Bytes == 0 && !a.contract.Zero {
		return 0, nil
	}
	name, own := a.streamName(r.Device, r.Stream, r.Thread)
	order := orderMalloc
	if align > 0 {
		order = orderMallocAligned
	}
	if a.contract.Memory != "" {
		a.subject.allow(r.Bytes)
		defer a.subject.allow(0)
	}
	current := r.Device
	if a.contract.Anywhere {
		current = a.current(r.Device)
	}
	words, exception := a.call(message{
		Type: order, Number: int32(r.Thread), Words: [8]uint64{r.Bytes, uint64(r.Device), name, align, uint64(current), own},
	})
	p := spec.Ptr(words[0])
	if r.Bytes == 0 {
		return 0, a.freeNothing(p, exception, r, name)
	}
	if exception != "" {
		return 0, fmt.Errorf("%s: %w", exception, &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes})
	}
	if p == 0 {
		return 0, &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes}
	}
	a.live[p] = allocation{r.Bytes, r.Device, r.Stream}
	return p, nil
}

// freeNothing frees what was allocated for 0 bytes at once.
func (a *allocator) freeNothing(p spec.Ptr, exception string, r spec.Request, stream uint64) error {
	if exception == "" {
		_, exception = a.call(message{
			Type: orderFree, Number: int32(r.Thread), Words: [8]uint64{uint64(p), 0, uint64(r.Device), stream, uint64(r.Device)},
		})
	}
	if exception != "" {
		return threw("malloc and free of 0 bytes", exception)
	}
	return nil
}

// Free calls the function that frees.
func (a *allocator) Free(p spec.Ptr) error {
	if m, live := a.live[p]; live {
		return a.free(p, m, m.stream, 0)
	}
	if p == 0 {
		return nil
	}
	return &spec.InvalidPointerError{Op: "free", Ptr: p}
}

func (a *allocator) free(p spec.Ptr, m allocation, s spec.Stream, thread spec.Thread) error {
	delete(a.live, p)
	name, own := a.streamName(m.device, s, thread)
	_, exception := a.call(message{
		Type: orderFree, Number: int32(thread),
		Words: [8]uint64{uint64(p), m.bytes, uint64(m.device), name, uint64(a.current(m.device)), own},
	})
	if exception != "" {
		a.live[p] = m
		return threw("free", exception)
	}
	return nil
}

// FreeOn calls the function that frees with the stream that the free is ordered on.
func (a *allocator) FreeOn(p spec.Ptr, _ spec.Device, s spec.Stream, t spec.Thread) error {
	m, live := a.live[p]
	if !live {
		return a.Free(p)
	}
	return a.free(p, m, s, t)
}

// EndThread ends a thread of the library's process.
func (a *allocator) EndThread(t spec.Thread) error {
	_, exception := a.subject.call(message{Type: orderEndThread, Number: int32(t)})
	if exception != "" {
		return threw("end_thread", exception)
	}
	return nil
}

// perThread is cudaStreamPerThread.
const perThread = 2

// streamName is what a thread calls a stream. For the thread's own default stream, own is the
// stream's handle, of which the library does not hear.
func (a *allocator) streamName(dev spec.Device, s spec.Stream, t spec.Thread) (name, own uint64) {
	if i := a.header.OwnStream(dev, t); i > 0 && a.header.Streams[i] == s {
		return perThread, uint64(s)
	}
	return uint64(s), 0
}

// current is the device that is current in a call about memory of a device.
func (a *allocator) current(dev spec.Device) spec.Device {
	if a.contract.Any {
		return spec.Device((int(dev) + 1) % a.devices)
	}
	return dev
}

// RecordStream calls the function of that name.
func (a *allocator) RecordStream(p spec.Ptr, dev spec.Device, s spec.Stream) error {
	const op = "record_stream"
	if !a.subject.records() {
		return &spec.NotSupportedError{Op: op, Reason: "it has no such function"}
	}
	if err := a.device(op, dev); err != nil || p == 0 {
		return err
	}
	if _, live := a.live[p]; !live {
		return &spec.InvalidPointerError{Op: op, Ptr: p}
	}
	current := a.current(dev)
	if s == 0 { // which names the default stream of the current device
		current = dev
	}
	_, exception := a.call(message{
		Type: orderRecordStream, Words: [8]uint64{uint64(p), uint64(s), uint64(current), uint64(dev)},
	})
	if exception != "" {
		return threw(op, exception)
	}
	return nil
}

// EmptyCache calls the function that returns cached memory, if there is one.
func (a *allocator) EmptyCache() error {
	if !a.subject.empties() {
		return nil
	}
	if len(a.live) == 0 { // whoever wants all memory back waits for the work before
		a.subject.settle()
	}
	if _, exception := a.call(message{Type: orderReset}); exception != "" {
		return threw("empty_cache", exception)
	}
	if len(a.live) == 0 { // what streams are through with comes back now
		a.subject.settle()
	}
	return nil
}

// Stats are not supported.
func (a *allocator) Stats(spec.Device) (spec.DeviceStats, error) {
	return spec.DeviceStats{}, &spec.NotSupportedError{Op: "stats", Reason: "the interface has no statistics"}
}

// Snapshot is not supported.
func (a *allocator) Snapshot() (spec.Snapshot, error) {
	return spec.Snapshot{}, &spec.NotSupportedError{Op: "snapshot", Reason: "the interface has no snapshots"}
}

// newGPU is a device on which nothing is examined.
func newGPU() *fakegpu.GPU { return fakegpu.New(fakegpu.Config{}) }
