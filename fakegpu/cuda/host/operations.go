//go:build cgo && linux

package host

/*
#cgo CFLAGS: -I${SRCDIR}/../include
#include "gaugeblock_cuda_table.h"

typedef void (*host_function)(void *);
static void *place(uint64_t address) { return (void *)(uintptr_t)address; }
static void call_host(uint64_t f, uint64_t data) { ((host_function)(uintptr_t)f)((void *)(uintptr_t)data); }
*/
import "C"

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// words are what an operation is given and answers in.
type words = [8]C.uint64_t

func device(w C.uint64_t) spec.Device { return spec.Device(int32(w)) }
func stream(w C.uint64_t) spec.Stream { return spec.Stream(w) }
func ptr(w C.uint64_t) spec.Ptr       { return spec.Ptr(w) }

// memory is host memory that an operation names.
func memory(address C.uint64_t, bytes C.uint64_t) []byte {
	return unsafe.Slice((*byte)(C.place(address)), uint64(bytes))
}

func text(address C.uint64_t) string {
	if address == 0 {
		return ""
	}
	return C.GoString((*C.char)(C.place(address)))
}

// put writes a text with a zero at its end into room for a number of bytes.
func put(address, room C.uint64_t, s string) {
	if room == 0 {
		return
	}
	to := memory(address, room)
	n := copy(to[:room-1], s)
	to[n] = 0
}

// putNodes writes nodes, as many as there is room for, and answers how many there are.
func putNodes(address C.uint64_t, room *C.uint64_t, nodes []spec.GraphNode) {
	if len(nodes) == 0 {
		*room = 0
		return
	}
	to := unsafe.Slice((*uint64)(C.place(address)), uint64(*room))
	for i, n := range nodes {
		if i < len(to) {
			to[i] = uint64(n)
		}
	}
	*room = C.uint64_t(len(nodes))
}

// nodesAt reads a number of nodes.
func nodesAt(address, count C.uint64_t) (nodes []spec.GraphNode) {
	if address == 0 {
		return nil
	}
	for _, n := range unsafe.Slice((*uint64)(C.place(address)), uint64(count)) {
		nodes = append(nodes, spec.GraphNode(n))
	}
	return nodes
}

// callFunction calls a function of the host. What that calls of CUDA itself is refused (cudaErrorNotPermitted).
func (p *Process) callFunction(f, data C.uint64_t) {
	if p.CallFunction != nil {
		p.CallFunction(uint64(f), uint64(data))
		return
	}
	thread := int32(unix.Gettid())
	p.function.Store(thread)
	C.call_host(f, data)
	p.function.Store(0)
}

// perform does an operation. Its result is CUDA's number of an error.
func (p *Process) perform(operation C.int, w *words) int {
	p.watches(operation, w)
	p.enter()
	defer p.leave()
	p.look()
	if operation < C.GAUGEBLOCK_BUSY && p.ruined() {
		return illegalAddress
	}
	g := p.GPU
	switch operation {
	case C.GAUGEBLOCK_COUNT:
		w[0] = C.uint64_t(g.DeviceCount())
		return 0
	case C.GAUGEBLOCK_EVENT_CREATE:
		return p.createEvent(w)
	case C.GAUGEBLOCK_EVENT_ELAPSED:
		elapsed, err := g.ElapsedTime(spec.EventHandle(w[0]), spec.EventHandle(w[1]))
		w[2] = C.uint64_t(elapsed)
		return number(err)
	case C.GAUGEBLOCK_EVENT_SHARE:
		return p.shareEvent(w)
	case C.GAUGEBLOCK_EVENT_OPEN:
		e, err := g.OpenEvent(append([]byte(nil), memory(w[0], 64)...))
		w[1] = C.uint64_t(e)
		return number(err)
	case C.GAUGEBLOCK_EVENT_RECORD:
		return number(g.RecordEvent(spec.EventHandle(w[0]), device(w[1]), stream(w[2])))
	case C.GAUGEBLOCK_EVENT_QUERY:
		return p.query(spec.EventHandle(w[0]))
	case C.GAUGEBLOCK_EVENT_SYNCHRONIZE:
		if err := p.await(func() error { return g.SynchronizeEvent(spec.EventHandle(w[0])) }); err != nil {
			return number(err)
		}
		return p.waited()
	case C.GAUGEBLOCK_EVENT_DESTROY:
		return number(g.DestroyEvent(spec.EventHandle(w[0])))
	case C.GAUGEBLOCK_CAPTURE_INFO:
		return p.captureInfo(w)
	}
	for _, part := range []func(C.int, *words) (int, bool){
		p.memoryOperation, p.pageOperation, p.streamOperation, p.graphOperation, p.workOperation,
		p.poolOperation, p.sharedOperation, p.ownOperation,
	} {
		if result, done := part(operation, w); done {
			return result
		}
	}
	return notSupported
}

func (p *Process) query(e spec.EventHandle) int {
	if it, sees := p.watchdog.asks(e); it {
		if !sees || !p.seen(e) {
			return notReady
		}
		p.watchdog.saw(e)
		return 0
	}
	complete, err := p.GPU.QueryEvent(e)
	if err == nil && !complete {
		return notReady
	}
	return number(err)
}

func (p *Process) captureInfo(w *words) int {
	info, err := p.GPU.CaptureStatus(device(w[0]), stream(w[1]))
	if err != nil {
		return number(err)
	}
	w[2], w[3], w[4] = C.uint64_t(info.Status), C.uint64_t(info.ID), C.uint64_t(info.Graph)
	putNodes(w[5], &w[6], info.Terminals)
	return 0
}

func (p *Process) memoryOperation(operation C.int, w *words) (int, bool) {
	g := p.GPU
	switch operation {
	case C.GAUGEBLOCK_PROPERTIES:
		properties, err := g.Properties(device(w[0]))
		w[1], w[2] = C.uint64_t(properties.TotalMemory), 0
		if properties.RDMAWithVirtualMemory {
			w[2] |= 1
		}
		put(w[3], 256, properties.Name)
		return number(err), true
	case C.GAUGEBLOCK_ATTRIBUTE:
		return p.attribute(w), true
	case C.GAUGEBLOCK_MALLOC:
		return p.malloc(w), true
	case C.GAUGEBLOCK_FREE:
		return p.free(w), true
	case C.GAUGEBLOCK_HOST_ALLOC:
		return number(p.mayAllocate(0)), true
	case C.GAUGEBLOCK_HOST_ADD:
		return number(p.addHost(ptr(w[0]), w[1])), true
	case C.GAUGEBLOCK_HOST_REMOVE:
		return number(p.await(func() error { _, err := g.RemoveHostArea(ptr(w[0])); return err })), true
	case C.GAUGEBLOCK_MEM_INFO:
		free, total, err := g.MemInfo(device(w[0]))
		w[1], w[2] = C.uint64_t(free), C.uint64_t(total)
		return number(err), true
	case C.GAUGEBLOCK_POINTER:
		p.pointer(w)
		return 0, true
	case C.GAUGEBLOCK_IPC_GET:
		_, dev, _ := g.MemoryAround(ptr(w[0]))
		handle, err := g.ShareMemory(dev, ptr(w[0]))
		copy(memory(w[1], 64), handle)
		return number(err), true
	case C.GAUGEBLOCK_IPC_OPEN:
		at, err := g.OpenMemory(device(w[0]), append([]byte(nil), memory(w[1], 64)...))
		w[2] = C.uint64_t(at)
		return number(err), true
	case C.GAUGEBLOCK_IPC_CLOSE:
		return number(g.CloseMemory(device(w[0]), ptr(w[1]))), true
	case C.GAUGEBLOCK_PEER_CAN:
		can, err := g.CanAccessPeer(device(w[0]), device(w[1]))
		w[2] = 0
		if can {
			w[2] = 1
		}
		return number(err), true
	case C.GAUGEBLOCK_PEER_ENABLE:
		return number(g.EnablePeerAccess(device(w[0]), device(w[1]))), true
	}
	return 0, false
}

// pointer says what memory of a device an address is in. Of a pool it is the piece.
func (p *Process) pointer(w *words) {
	r, dev, found := p.GPU.MemoryAround(ptr(w[0]))
	if piece, is := p.pieceAround(ptr(w[0])); found && is {
		r, w[5] = piece.memory, C.uint64_t(piece.id)
	}
	w[1], w[2], w[3], w[4] = 0, C.uint64_t(dev), C.uint64_t(r.Ptr), C.uint64_t(r.Bytes)
	if found {
		w[1] = 1
	}
}

// attribute: what is known of no device is 0. Two depend on the machine.
func (p *Process) attribute(w *words) int {
	properties, err := p.GPU.Properties(device(w[0]))
	if err != nil {
		return number(err)
	}
	const rdmaWithVirtualMemory = 110
	w[2] = C.uint64_t(p.Attributes[int(w[1])])
	if w[1] == rdmaWithVirtualMemory && properties.RDMAWithVirtualMemory {
		w[2] = 1
	}
	return 0
}

// mayAllocate: a capture that forbids to free forbids to allocate. The GPU itself takes every
// caller for one whom it is allowed; freeing nothing is refused as the rest, and invalidates the
// capture.
func (p *Process) mayAllocate(dev spec.Device) error {
	if !p.GPU.FreeForbidden() {
		return nil
	}
	return p.GPU.Free(dev, 0)
}

// addHost lets devices reach memory of the host. That of another process is not reached from here.
func (p *Process) addHost(at spec.Ptr, bytes C.uint64_t) error {
	var content []byte
	if p.served == nil {
		content = memory(C.uint64_t(at), bytes)
	}
	return p.GPU.AddHostArea(spec.Range{Ptr: at, Bytes: uint64(bytes)}, content)
}

func (p *Process) malloc(w *words) int {
	dev := device(w[0])
	if err := p.mayAllocate(dev); err != nil {
		return number(err)
	}
	malloc := func() (spec.Ptr, error) { return p.GPU.Malloc(dev, uint64(w[1])) }
	around := p.AroundMalloc
	if around == nil {
		around = func(malloc func() (spec.Ptr, error)) (spec.Ptr, error) { return malloc() }
	}
	at, err := around(malloc)
	w[2] = C.uint64_t(at)
	return number(err)
}

func (p *Process) free(w *words) int {
	at := ptr(w[0])
	if p.isPooled(at) {
		return p.poolFree(at, 0, 0, true)
	}
	_, dev, _ := p.GPU.MemoryAround(at)
	if p.GPU.IsOfGraph(at) {
		if err := p.await(func() error { return p.GPU.SynchronizeDevice(dev) }); err != nil {
			return number(err)
		}
		_, err := p.GPU.FreeOfGraph(at)
		return number(err)
	}
	return number(p.await(func() error { return p.GPU.Free(dev, at) }))
}

func (p *Process) streamOperation(operation C.int, w *words) (int, bool) {
	g := p.GPU
	switch operation {
	case C.GAUGEBLOCK_STREAM_CREATE:
		s, err := p.createStream(device(w[0]), streamMaking{flags: uint64(w[2]), priority: int(int64(w[3]))})
		w[1] = C.uint64_t(s)
		return number(err), true
	case C.GAUGEBLOCK_STREAM_GET:
		how := p.making(stream(w[1]))
		w[2], w[3] = C.uint64_t(how.flags), C.uint64_t(how.priority)
		return 0, true
	case C.GAUGEBLOCK_STREAM_DESTROY:
		return number(p.destroyStream(device(w[0]), stream(w[1]))), true
	case C.GAUGEBLOCK_STREAM_ID:
		id, found := g.StreamID(device(w[0]), stream(w[1]))
		w[2] = C.uint64_t(id)
		if !found {
			return invalidHandle, true
		}
		return 0, true
	case C.GAUGEBLOCK_STREAM_DEVICE:
		dev, found := g.StreamDevice(stream(w[0]))
		w[1] = C.uint64_t(dev)
		if !found {
			return invalidHandle, true
		}
		return 0, true
	case C.GAUGEBLOCK_STREAM_SYNCHRONIZE:
		err := p.await(func() error { return g.SynchronizeStream(device(w[0]), stream(w[1])) })
		if err == nil && w[2] == 0 {
			return p.waited(), true
		}
		return number(err), true
	case C.GAUGEBLOCK_STREAM_QUERY:
		return p.queryStream(device(w[0]), stream(w[1])), true
	case C.GAUGEBLOCK_STREAM_WAIT:
		return number(g.WaitEvent(device(w[0]), stream(w[1]), spec.EventHandle(w[2]))), true
	case C.GAUGEBLOCK_DEVICE_SYNCHRONIZE:
		err := p.await(func() error { return g.SynchronizeDevice(device(w[0])) })
		if err == nil {
			return p.waited(), true
		}
		return number(err), true
	}
	return 0, false
}

// queryStream asks an event at the stream's end.
func (p *Process) queryStream(dev spec.Device, s spec.Stream) int {
	if s == 0 {
		complete, asked, err := p.GPU.QueryDefaultStream(dev)
		if asked && err == nil && !complete {
			return notReady
		}
		if asked {
			return number(err)
		}
	}
	e, err := p.GPU.CreateEvent(dev)
	if err != nil {
		return number(err)
	}
	result := number(p.GPU.RecordEvent(e, dev, s))
	if result == 0 {
		if result = p.query(e); result == 907 { // of an event in a capture; of a stream it is
			result = captureUnsupported
		}
	}
	if err := p.GPU.DestroyEvent(e); err != nil {
		return number(err)
	}
	return result
}

func (p *Process) graphOperation(operation C.int, w *words) (int, bool) {
	g := p.GPU
	switch operation {
	case C.GAUGEBLOCK_CAPTURE_BEGIN:
		return number(g.BeginCapture(device(w[0]), stream(w[1]), spec.CaptureMode(w[2]))), true
	case C.GAUGEBLOCK_CAPTURE_END:
		graph, err := g.EndCapture(device(w[0]), stream(w[1]))
		w[2] = C.uint64_t(graph)
		return number(err), true
	case C.GAUGEBLOCK_NODE_DEPENDENCIES:
		nodes, err := g.NodeDependencies(spec.GraphNode(w[0]))
		if err == nil {
			putNodes(w[1], &w[2], nodes)
		}
		return number(err), true
	case C.GAUGEBLOCK_GRAPH_NODES:
		nodes, err := g.GraphNodes(spec.Graph(w[0]))
		if err == nil {
			putNodes(w[1], &w[2], nodes)
		}
		return number(err), true
	case C.GAUGEBLOCK_NODE_TYPE:
		kind, err := g.NodeType(spec.GraphNode(w[0]))
		w[1] = C.uint64_t(kind)
		return number(err), true
	case C.GAUGEBLOCK_GRAPH_EMPTY_NODE:
		n, err := g.AddEmptyNode(spec.Graph(w[0]), nodesAt(w[1], w[2]))
		w[3] = C.uint64_t(n)
		return number(err), true
	case C.GAUGEBLOCK_CAPTURE_DEPENDS:
		return number(g.DependOn(device(w[0]), stream(w[1]), nodesAt(w[2], w[3]))), true
	case C.GAUGEBLOCK_GRAPH_MEMORY:
		if device(w[0]) < 0 || int(device(w[0])) >= g.DeviceCount() {
			return 101, true
		}
		used, reserved := g.GraphMemory(device(w[0]))
		w[1], w[2] = C.uint64_t(used), C.uint64_t(reserved)
		return 0, true
	case C.GAUGEBLOCK_GRAPH_INSTANTIATE:
		x, err := g.Instantiate(spec.Graph(w[0]))
		w[1] = C.uint64_t(x)
		return number(err), true
	case C.GAUGEBLOCK_GRAPH_LAUNCH:
		return number(g.LaunchGraph(spec.GraphExec(w[0]), device(w[1]), stream(w[2]))), true
	case C.GAUGEBLOCK_GRAPH_DESTROY:
		return number(g.DestroyGraph(spec.Graph(w[0]))), true
	case C.GAUGEBLOCK_EXEC_DESTROY:
		return number(g.DestroyGraphExec(spec.GraphExec(w[0]))), true
	}
	return 0, false
}

// hostSide reports whether what a copy names as memory of the host can be that: there is none at 0, and
// memory of a device is none.
func (p *Process) hostSide(operation C.int, w *words) bool {
	at := w[2]
	if operation == C.GAUGEBLOCK_COPY_IN {
		at = w[3]
	}
	if w[4] == 0 || p.GPU.HostArea(spec.Range{Ptr: ptr(at), Bytes: 1}) {
		return true
	}
	_, _, device := p.GPU.MemoryAround(ptr(at))
	return at != 0 && !device
}

func (p *Process) workOperation(operation C.int, w *words) (int, bool) {
	g := p.GPU
	if copies := operation == C.GAUGEBLOCK_COPY_IN || operation == C.GAUGEBLOCK_COPY_OUT; copies && !p.hostSide(operation, w) {
		return invalidValue, true
	}
	if p.NoBytes {
		if result, done := p.withoutBytes(operation, w); done {
			return result, true
		}
	}
	switch operation {
	case C.GAUGEBLOCK_FILL:
		r := spec.Range{Ptr: ptr(w[2]), Bytes: uint64(w[3])}
		return number(g.Fill(device(w[0]), stream(w[1]), r, byte(w[4]))), true
	case C.GAUGEBLOCK_COPY:
		return number(g.Copy(spec.Copy{
			Device: device(w[0]), Stream: stream(w[1]), Dst: ptr(w[2]), DstDevice: device(w[3]),
			Src: ptr(w[4]), SrcDevice: device(w[5]), Bytes: uint64(w[6]),
		})), true
	case C.GAUGEBLOCK_COPY_IN, C.GAUGEBLOCK_COPY_OUT:
		return number(p.copyHost(operation, w)), true
	case C.GAUGEBLOCK_HOST_FUNCTION:
		f, data := w[2], w[3]
		return number(g.HostFunction(device(w[0]), stream(w[1]), func() { p.callFunction(f, data) })), true
	case C.GAUGEBLOCK_LAUNCH:
		return number(g.Launch(spec.Launch{
			Device: device(w[0]), Stream: stream(w[1]), Name: text(w[2]),
			Reads: ranges(w[3], w[4]), Writes: ranges(w[5], w[6]),
		})), true
	case C.GAUGEBLOCK_KERNEL:
		l := spec.Launch{Device: device(w[0]), Stream: stream(w[1]), Name: text(w[2])}
		return number(g.LaunchSized(l, uint64(w[3]), uint64(w[4]), uint64(w[5]))), true
	case C.GAUGEBLOCK_COMPUTE:
		return number(p.compute(w)), true
	case C.GAUGEBLOCK_BYTES_IN_HOST:
		w[0] = 0
		if p.InHost {
			w[0] = 1
		}
		return 0, true
	case C.GAUGEBLOCK_WAIT_VALUE:
		return number(p.hold(waitValue{
			device(w[0]), stream(w[1]), (*uint32)(C.place(w[2])), uint32(w[3]),
		})), true
	}
	return 0, false
}

// copyHost copies between a device and the host. Memory of the host that devices can reach is read
// or written when it is the copy's turn, other memory when it is given.
func (p *Process) copyHost(operation C.int, w *words) error {
	dev, s, bytes := device(w[0]), stream(w[1]), uint64(w[4])
	in := operation == C.GAUGEBLOCK_COPY_IN
	of := ptr(w[2])
	if in {
		of = ptr(w[3])
	}
	if p.GPU.HostArea(spec.Range{Ptr: of, Bytes: bytes}) {
		to, from := ptr(w[2]), ptr(w[3])
		other := to // the memory of a device; it need not be the stream's
		if !in {
			other = from
		}
		on := dev
		if _, found, is := p.GPU.MemoryAround(other); is {
			on = found
		}
		return p.GPU.Copy(spec.Copy{Device: dev, Stream: s, Dst: to, DstDevice: on, Src: from, SrcDevice: on, Bytes: bytes})
	}
	if in {
		return p.GPU.CopyIn(dev, s, ptr(w[2]), memory(w[3], w[4]))
	}
	to := memory(w[2], w[4])
	return p.GPU.CopyOut(dev, s, spec.Range{Ptr: ptr(w[3]), Bytes: bytes}, func(data []byte) { copy(to, data) })
}

// withoutBytes does the work whose bytes nobody keeps.
func (p *Process) withoutBytes(operation C.int, w *words) (int, bool) {
	name, moved := fakegpu.CopyOver, uint64(0)
	inHost := func(at C.uint64_t) bool { return p.GPU.HostArea(spec.Range{Ptr: ptr(at)}) }
	switch operation {
	case C.GAUGEBLOCK_FILL:
		if inHost(w[2]) {
			return 0, false // memory of the host has its bytes
		}
		name, moved = fill, uint64(w[3])
	case C.GAUGEBLOCK_COPY:
		switch to, from := inHost(w[2]), inHost(w[4]); {
		case to && from:
			return 0, false
		case to:
			clear(memory(w[2], w[6]))
			name, moved = fakegpu.CopyOut, uint64(w[6])
		case from:
			name, moved = fakegpu.CopyIn, uint64(w[6])
		default:
			moved = 2 * uint64(w[6])
		}
	case C.GAUGEBLOCK_COPY_IN:
		if inHost(w[2]) {
			return 0, false
		}
		name, moved = fakegpu.CopyIn, uint64(w[4])
	case C.GAUGEBLOCK_COPY_OUT:
		if inHost(w[3]) {
			return 0, false
		}
		name, moved = fakegpu.CopyOut, uint64(w[4])
		clear(memory(w[2], w[4]))
	default:
		return 0, false
	}
	return number(p.GPU.LaunchSized(spec.Launch{Device: device(w[0]), Stream: stream(w[1]), Name: name}, moved, 0, 0)), true
}

// compute gives a stream a kernel that the host computes.
func (p *Process) compute(w *words) error {
	if !p.InHost {
		return &spec.NotSupportedError{Op: "compute", Reason: "the host does not find the devices' memory"}
	}
	k := (*[7]C.uint64_t)(C.place(w[2]))
	function, data := k[5], k[6]
	return p.GPU.LaunchOnHost(spec.Launch{
		Device: device(w[0]), Stream: stream(w[1]), Name: text(k[0]), Reads: ranges(k[1], k[2]), Writes: ranges(k[3], k[4]),
	}, func() { C.call_host(function, data) })
}

// ranges reads an array of gaugeblock_range.
func ranges(address, count C.uint64_t) []spec.Range {
	pairs := unsafe.Slice((*[2]uint64)(C.place(address)), uint64(count))
	list := make([]spec.Range, len(pairs))
	for i, pair := range pairs {
		list[i] = spec.Range{Ptr: spec.Ptr(pair[0]), Bytes: pair[1]}
	}
	return list
}
