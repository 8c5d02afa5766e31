package history

import "gaugeblock/spec"

// Room is what a device had for the allocator of a process when a request failed, in bytes: what
// the allocator held, and what was free. The rest of the device is outside of the allocator: the
// context, NCCL and other libraries, and other processes.
type Room struct {
	Number         int // of the request, counting the requests for memory from 1
	Reserved, Free uint64
}

// Bytes is the sum of both.
func (r Room) Bytes() uint64 { return r.Reserved + r.Free }

// Rooms are those of the requests that failed, in order.
func (w *Workload) Rooms() (list []Room) {
	reserved, _ := ReservedBytes(nil, w.InitialSegments)
	number := 0
	for i := range w.Trace {
		switch e := &w.Trace[i]; e.Action {
		case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
			reserved += e.Size
		case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
			reserved -= min(e.Size, reserved)
		case spec.ActionAlloc:
			number++
		case spec.ActionOOM:
			number++
			list = append(list, Room{number, reserved, uint64(e.Addr)})
		}
	}
	return list
}
