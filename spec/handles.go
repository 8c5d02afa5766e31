package spec

import "fmt"

// Ptr is a device address in bytes. Zero is the null pointer.
type Ptr uint64

// String writes the address in hexadecimal, as CUDA tools do.
func (p Ptr) String() string { return fmt.Sprintf("0x%x", uint64(p)) }

// Format writes %v and %s as String does, and every other verb as the number, so
// that %x and %#x do what they do elsewhere.
func (p Ptr) Format(f fmt.State, verb rune) {
	if verb == 'v' || verb == 's' {
		_, _ = fmt.Fprint(f, p.String())
		return
	}
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), uint64(p))
}

// Device numbers a GPU, from 0, in the driver's order.
type Device int

// Stream is the driver's handle of a stream. Zero is the default stream of
// whatever device the call names; every other handle is unique in its process.
// Where the order of streams matters it is the order of their handles.
type Stream uint64

// String writes the handle in hexadecimal, "default" for the default stream.
func (s Stream) String() string {
	if s == 0 {
		return "default"
	}
	return fmt.Sprintf("0x%x", uint64(s))
}

// DeviceStream names a stream.
type DeviceStream struct {
	Device Device
	Stream Stream
}

// Thread is the identity of a caller, chosen by the caller. C++ can query which
// thread is running. A goroutine has no identity, so a caller that needs one (for
// ForThread, or for the metadata of trace entries) chooses a number. Zero is a thread
// like any other, and is enough for a program that uses neither.
type Thread uint64

// PoolID names a pool (upstream: MempoolId_t). The zero value is the default pool.
// Upstream sets Capture for a pool that a graph capture made and User for one that
// the program made. An allocator compares ids, and orders pools by them.
type PoolID struct {
	Capture uint64
	User    uint64
}

// DefaultPool is the pool that serves requests that no filter routes to another pool.
var DefaultPool = PoolID{}

// IsDefault reports whether the id names the default pool.
func (id PoolID) IsDefault() bool { return id == PoolID{} }

// String writes the pair the way PyTorch prints it.
func (id PoolID) String() string { return fmt.Sprintf("(%d, %d)", id.Capture, id.User) }

// EventHandle is the driver's handle of an event (a point in a stream's work that
// can be waited for): cudaEvent_t.
type EventHandle uint64

// CaptureID is the driver's number of one stream capture. Zero means none.
type CaptureID uint64

// GraphNode is the driver's handle of one node of a graph under capture.
type GraphNode uint64

// PageHandle is the driver's handle of one piece of physical memory that can be
// mapped into a reserved address range.
type PageHandle uint64
