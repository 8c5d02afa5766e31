package arena

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"

	"gaugeblock/spec"
)

// user is what both users of a cache have: the driver, the pieces that it has given,
// and which pointer is which block. There is a cache for each device.
type user[C interface{ view() *cache }] struct {
	driver spec.Driver

	mu      sync.Mutex
	devices []*deviceUser[C]
}

// deviceUser is the part of one device.
type deviceUser[C interface{ view() *cache }] struct {
	number spec.Device
	cache  C
	pieces []spec.Range     // from the driver, by address
	out    map[spec.Ptr]int // blocks that are out
	asked  map[int]uint64   // bytes that were asked for, by block
	gone   map[int]bool     // blocks of pieces that were returned, which the cache still has
	stats  spec.DeviceStats
	held   []heldBlock // freed, with events to wait for, oldest first
}

// heldBlock is a block that other streams use.
type heldBlock struct {
	index  int
	events []spec.EventHandle
	on     []use // the events' streams
}

func (c *cache) view() *cache { return c }

// begin makes a cache for each device.
func (u *user[C]) begin(driver spec.Driver, newCache func() C) {
	u.driver = driver
	for dev := range driver.DeviceCount() {
		u.devices = append(u.devices, &deviceUser[C]{
			number: spec.Device(dev), cache: newCache(), out: map[spec.Ptr]int{}, asked: map[int]uint64{}, gone: map[int]bool{},
			stats: spec.DeviceStats{MaxSplitSize: -1},
		})
	}
}

// device is the part of a device.
func (u *user[C]) device(op string, dev spec.Device) (*deviceUser[C], error) {
	if dev < 0 || int(dev) >= len(u.devices) {
		return nil, &spec.InvalidArgumentError{Op: op, Reason: "there is no such device"}
	}
	return u.devices[dev], nil
}

// obtain gets a piece for a request, and the cache its block. Not enough memory is the
// error that the contract asks for.
func (u *user[C]) obtain(d *deviceUser[C], r spec.Request, insert func(ptr spec.Ptr, bytes uint64) int) (int, error) {
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
	at, _ := d.piece(ptr)
	d.pieces = slices.Insert(d.pieces, at, spec.Range{Ptr: ptr, Bytes: bytes})
	return insert(ptr, bytes), nil
}

// piece is where the piece of an address is, or would be.
func (d *deviceUser[C]) piece(ptr spec.Ptr) (int, bool) {
	return slices.BinarySearchFunc(d.pieces, ptr, func(p spec.Range, ptr spec.Ptr) int { return cmp.Compare(p.Ptr, ptr) })
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

// give notes that a block is out.
func (d *deviceUser[C]) give(r spec.Request, i int) spec.Ptr {
	ptr := d.cache.view().list[i].ptr
	d.out[ptr], d.asked[i] = i, r.Bytes
	return ptr
}

// blocksOf lists the blocks of a piece, by address.
func (d *deviceUser[C]) blocksOf(piece spec.Range) []int {
	list := d.cache.view().list
	var in []int
	for i := range list {
		if b := &list[i]; b.size > 0 && !d.gone[i] && piece.Ptr <= b.ptr && b.ptr < piece.End() {
			in = append(in, i)
		}
	}
	slices.SortFunc(in, func(a, b int) int { return cmp.Compare(list[a].ptr, list[b].ptr) })
	return in
}

// pointers lists what is out, by address.
func (d *deviceUser[C]) pointers() []spec.Ptr { return slices.Sorted(maps.Keys(d.out)) }
