package fakegpu

import "gaugeblock/spec"

// An AddressPolicy chooses where the memory of one device lies in the address
// space of one process. It gives addresses only: whether a request succeeds was
// decided before, by capacity. Its methods are called with the machine's lock
// held.
//
// Addresses matter because an allocator breaks ties by them (of two equally good
// blocks the lower one is taken), so a replay is exact only on the addresses of
// the recorded run, or on a policy that behaves like the driver that gave them.
type AddressPolicy interface {
	// Place chooses the address of a new piece of memory: a multiple of 512, and
	// free from there to its end.
	Place(bytes uint64) spec.Ptr
	// Vacate says that the piece is gone.
	Vacate(ptr spec.Ptr, bytes uint64)

	// PlaceRange chooses the address of a reserved range: a multiple of
	// rangeAlignment, and free from there to its end.
	PlaceRange(bytes uint64) spec.Ptr
	// VacateRange says that the range is gone.
	VacateRange(ptr spec.Ptr, bytes uint64)
}

const (
	// pieceAlignment is what every address that Malloc gives is a multiple of.
	pieceAlignment = 512
	// rangeAlignment is what the base of every reserved range is a multiple of:
	// the size of a large page.
	rangeAlignment = 2 * spec.MiB
	// windowBytes is the share of the address space that Ascending gives a device.
	windowBytes = 1 << 50
	// fallbackWindow is where a Script puts what it has no address for: above
	// every address that was ever recorded, since those end below 1<<48.
	fallbackWindow = 1 << 56
	// openedWindow is where memory opened from other processes begins, whatever
	// the policy.
	openedWindow = 1 << 60
	// hostOpenedWindow is where it begins if the host has to have the addresses.
	hostOpenedWindow = 1 << 43
)

// roundUp gives the first multiple of step that is not below n.
func roundUp(n, step uint64) uint64 { return (n + step - 1) / step * step }
