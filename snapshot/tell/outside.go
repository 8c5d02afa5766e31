package tell

import (
	"fmt"

	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
)

// Memory of the device that is outside of this process's allocator: the context, NCCL, libraries,
// and other processes, such as an engine on the same device.

// jsonOutside is what is known of it, in bytes.
type jsonOutside struct {
	Free     uint64  `json:"device_free"` // when the request failed
	Reserved uint64  `json:"reserved"`    // then
	Capacity *uint64 `json:"capacity"`    // of the device; null: not known
	Bytes    *uint64 `json:"bytes"`       // outside; null: not known
	Grown    int64   `json:"grown"`       // from the first request that failed to this one
}

// outsideAtFailure is what is known of the failing request, nil if that is nothing.
func (c Answer) outsideAtFailure() *jsonOutside {
	room, first, known := c.roomAtFailure()
	if !known {
		return nil
	}
	v := &jsonOutside{Free: room.Free, Reserved: room.Reserved, Grown: int64(first.Bytes()) - int64(room.Bytes())}
	if total := c.Workload.DeviceMemory; total > 0 {
		v.Capacity = &total
		if total >= room.Bytes() {
			outside := total - room.Bytes()
			v.Bytes = &outside
		}
	}
	return v
}

// roomAtFailure is that of the failing request, or else of the last one that failed, and that of
// the first one that failed.
func (c Answer) roomAtFailure() (room, first history.Room, known bool) {
	rooms := c.Workload.Rooms()
	if len(rooms) == 0 {
		return room, first, false
	}
	room, first = rooms[len(rooms)-1], rooms[0]
	for _, r := range rooms {
		if oom := c.Failing(); oom != nil && r.Number == oom.Number {
			room = r
		}
	}
	return room, first, true
}

// outside says it in sentences; "" if nothing is known.
func (c Answer) outside() string {
	const what = "the context, NCCL, libraries, and other processes, such as an engine on the same device"
	room, first, known := c.roomAtFailure()
	if !known {
		return ""
	}
	text := fmt.Sprintf("When request %d failed in the recorded run, the device had %s free and this process's allocator held %s, %s together.",
		room.Number, spec.FormatSize(room.Free), spec.FormatSize(room.Reserved), spec.FormatSize(room.Bytes()))
	switch total := c.Workload.DeviceMemory; {
	case total == 0:
		text += fmt.Sprintf(" What the device has beyond that is outside of the allocator: %s. --capacity, which PyTorch's message tells, says how much.", what)
	case total < room.Bytes():
		text += fmt.Sprintf(" That is more than a capacity of %s: part of it is not memory of the device.", spec.FormatSize(total))
	default:
		text += fmt.Sprintf(" Of the %s that the device has, %s is outside of the allocator: %s.", spec.FormatSize(total), spec.FormatSize(total-room.Bytes()), what)
	}
	const notable = 2 * spec.MiB
	switch {
	case first.Bytes() >= room.Bytes()+notable:
		text += fmt.Sprintf(" From the failure of request %d to that one, what is outside grew by %s.", first.Number, spec.FormatSize(first.Bytes()-room.Bytes()))
	case room.Bytes() >= first.Bytes()+notable:
		text += fmt.Sprintf(" From the failure of request %d to that one, what is outside shrank by %s.", first.Number, spec.FormatSize(room.Bytes()-first.Bytes()))
	}
	return text
}
