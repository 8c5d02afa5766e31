package arena

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"

	"gaugeblock/spec"
)

// user is what both users of a cache have: the driver, the segments that it allocated, and
// the blocks of the allocated pointers. There is a cache for each device.
type user[C interface{ view() *cache }] struct {
	driver spec.Driver

	mu      sync.Mutex
	devices []*deviceUser[C]
}

// deviceUser is the state of one device.
type deviceUser[C interface{ view() *cache }] struct {
	number    spec.Device
	cache     C
	segments  []spec.Range     // by address
	allocated map[spec.Ptr]int // the blocks
	requested map[int]uint64   // bytes, by block
	freed     map[int]bool     // blocks of freed segments, which the cache still has
	stats     spec.DeviceStats
	pending   []pendingBlock // freed blocks whose events have not completed, oldest first
}

// pendingBlock is a freed block with stream uses.
type pendingBlock struct {
	index  int
	events []spec.EventHandle
	uses   []streamUse // the streams of the events
}

func (c *cache) view() *cache { return c }

// begin makes a cache for each device.
func (u *user[C]) begin(driver spec.Driver, newCache func() C) {
	u.driver = driver
	for dev := range driver.DeviceCount() {
		u.devices = append(u.devices, &deviceUser[C]{
			number: spec.Device(dev), cache: newCache(), allocated: map[spec.Ptr]int{}, requested: map[int]uint64{}, freed: map[int]bool{},
			stats: spec.DeviceStats{MaxSplitSize: -1},
		})
	}
}

// device is the state of a device.
func (u *user[C]) device(op string, dev spec.Device) (*deviceUser[C], error) {
	if dev < 0 || int(dev) >= len(u.devices) {
		return nil, &spec.InvalidArgumentError{Op: op, Reason: "there is no such device"}
	}
	return u.devices[dev], nil
}

// allocateSegment allocates a segment for a request, and inserts it into the cache. If
// there is not enough memory, the error is the one of the contract.
func (u *user[C]) allocateSegment(d *deviceUser[C], r spec.Request, insert func(ptr spec.Ptr, bytes uint64) int) (int, error) {
	bytes := DriverAllocSize(r.Bytes)
	ptr, err := u.driver.Malloc(r.Device, bytes)
	if errors.Is(err, spec.ErrDriverOutOfMemory) {
		d.stats.NumOOMs++
		return none, u.outOfMemory(d, r, bytes)
	}
	if err != nil {
		return none, err
	}
	d.stats.NumDeviceAlloc++
	at, _ := d.segmentAt(ptr)
	d.segments = slices.Insert(d.segments, at, spec.Range{Ptr: ptr, Bytes: bytes})
	return insert(ptr, bytes), nil
}

// segmentAt is the index of the segment at an address, or where it would be inserted.
func (d *deviceUser[C]) segmentAt(ptr spec.Ptr) (int, bool) {
	return slices.BinarySearchFunc(d.segments, ptr, func(p spec.Range, ptr spec.Ptr) int { return cmp.Compare(p.Ptr, ptr) })
}

func (u *user[C]) outOfMemory(d *deviceUser[C], r spec.Request, bytes uint64) error {
	free, total, err := u.driver.MemInfo(r.Device)
	if err != nil {
		return err
	}
	c := d.cache.view()
	return &spec.OutOfMemoryError{
		Device: r.Device, Requested: r.Bytes, SegmentSize: bytes, DeviceTotal: total, DeviceFree: free,
		Allocated: c.allocated, Unallocated: c.reserved - c.allocated,
	}
}

// register registers a block as allocated.
func (d *deviceUser[C]) register(r spec.Request, i int) spec.Ptr {
	ptr := d.cache.view().list[i].ptr
	d.allocated[ptr], d.requested[i] = i, r.Bytes
	return ptr
}

// blocksIn lists the blocks of a segment, by address.
func (d *deviceUser[C]) blocksIn(segment spec.Range) []int {
	list := d.cache.view().list
	var in []int
	for i := range list {
		if b := &list[i]; b.size > 0 && !d.freed[i] && segment.Ptr <= b.ptr && b.ptr < segment.End() {
			in = append(in, i)
		}
	}
	slices.SortFunc(in, func(a, b int) int { return cmp.Compare(list[a].ptr, list[b].ptr) })
	return in
}

// pointers lists the allocated pointers.
func (d *deviceUser[C]) pointers() []spec.Ptr { return slices.Sorted(maps.Keys(d.allocated)) }
