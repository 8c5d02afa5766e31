//go:build cgo && linux

package host

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// fileMemory is the devices' memory in a file that is in memory only (memfd_create), so that
// one piece of it can be at several addresses, as pages of a device can. It is there from the
// first byte that is written.
type fileMemory struct {
	file   int
	end    uint64            // of the part that was ever used; none is used twice
	places map[*byte]uint64  // where in the file memory is
	mapped map[spec.Ptr]bool // addresses of devices
}

var _ fakegpu.HostMemory = (*fileMemory)(nil)

// windowBytes is each device's share of the addresses, and firstWindow where they begin: far
// from where the system puts anything.
const (
	windowBytes = 4 << 40
	firstWindow = 0x1000_0000_0000
)

// hostAddresses is the address policy of a device whose memory the host can reach.
func hostAddresses(dev spec.Device) fakegpu.AddressPolicy {
	return fakegpu.RealLikeWithin(spec.Range{Ptr: firstWindow + spec.Ptr(dev)*windowBytes, Bytes: windowBytes})
}

func newFileMemory() (*fileMemory, error) {
	file, err := unix.MemfdCreate("fake GPU", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return &fileMemory{file: file, places: map[*byte]uint64{}, mapped: map[spec.Ptr]bool{}}, nil
}

// granule is what memory begins and ends at multiples of, in the file.
const granule = 2 << 20

func inGranules(bytes uint64) uint64 { return (bytes + granule - 1) / granule * granule }

// Obtain implements fakegpu.HostMemory.
func (f *fileMemory) Obtain(bytes uint64) ([]byte, error) {
	at := f.end
	if err := unix.Ftruncate(f.file, int64(at+inGranules(bytes))); err != nil {
		return nil, os.NewSyscallError("ftruncate", err)
	}
	memory, err := unix.Mmap(f.file, int64(at), int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	f.end += inGranules(bytes)
	f.places[unsafe.SliceData(memory)] = at
	return memory, nil
}

// Drop implements fakegpu.HostMemory.
func (f *fileMemory) Drop(memory []byte) {
	at := f.places[unsafe.SliceData(memory)]
	delete(f.places, unsafe.SliceData(memory))
	_ = unix.Fallocate(f.file, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(at), int64(inGranules(uint64(len(memory)))))
	_ = unix.Munmap(memory)
}

// Map implements fakegpu.HostMemory.
func (f *fileMemory) Map(at spec.Ptr, memory []byte) error {
	from := f.places[unsafe.SliceData(memory)]
	_, _, failed := unix.Syscall6(unix.SYS_MMAP, uintptr(at), uintptr(len(memory)), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_FIXED_NOREPLACE, uintptr(f.file), uintptr(from))
	if failed != 0 {
		return fmt.Errorf("mmap at %v: %w", at, failed)
	}
	f.mapped[at] = true
	return nil
}

// Unmap implements fakegpu.HostMemory.
func (f *fileMemory) Unmap(at spec.Ptr, bytes uint64) {
	if f.mapped[at] {
		delete(f.mapped, at)
		_, _, _ = unix.Syscall(unix.SYS_MUNMAP, uintptr(at), uintptr(bytes), 0)
	}
}
