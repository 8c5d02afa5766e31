//go:build cgo && linux

package host

/*
#include "gaugeblock_cuda_table.h"
*/
import "C"

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"gaugeblock/spec"
)

func (p *Process) pageOperation(operation C.int, w *words) (int, bool) {
	g := p.GPU
	switch operation {
	case C.GAUGEBLOCK_RESERVE:
		at, err := g.ReserveAddress(device(w[0]), uint64(w[1]))
		w[2] = C.uint64_t(at)
		return number(err), true
	case C.GAUGEBLOCK_ADDRESS_FREE:
		return number(g.FreeAddress(ptr(w[0]), uint64(w[1]))), true
	case C.GAUGEBLOCK_PAGE_CREATE:
		page, err := g.CreatePage(device(w[0]), uint64(w[1]), share(w[2]))
		w[3] = C.uint64_t(page)
		return number(err), true
	case C.GAUGEBLOCK_PAGE_RELEASE:
		return number(g.ReleasePage(spec.PageHandle(w[0]))), true
	case C.GAUGEBLOCK_PAGE_MAP:
		return number(g.MapPage(ptr(w[0]), uint64(w[1]), spec.PageHandle(w[2]))), true
	case C.GAUGEBLOCK_PAGE_ACCESS:
		return number(g.SetAccess(ptr(w[0]), uint64(w[1]), device(w[2]))), true
	case C.GAUGEBLOCK_PAGE_UNMAP:
		return number(g.UnmapPage(ptr(w[0]), uint64(w[1]))), true
	case C.GAUGEBLOCK_PAGE_EXPORT:
		return p.export(w), true
	case C.GAUGEBLOCK_PAGE_IMPORT:
		return p.importPage(w), true
	}
	return 0, false
}

func share(fabric C.uint64_t) spec.ShareType {
	if fabric != 0 {
		return spec.ShareFabric
	}
	return spec.SharePOSIX
}

// descriptorBytes is what is in the file of a page's descriptor: the process of the fake
// machine that exported it, and the number that the machine has for it.
const descriptorBytes = 16

// export writes a fabric handle, or makes a file descriptor of the system's that stands for
// the machine's: programs close descriptors, and copy them from process to process.
func (p *Process) export(w *words) int {
	handle, err := p.GPU.ExportPage(spec.PageHandle(w[0]), share(w[1]))
	if err != nil {
		return number(err)
	}
	if w[1] != 0 {
		copy(memory(w[2], 64), handle)
		return 0
	}
	fd, err := unix.MemfdCreate("fake page", unix.MFD_CLOEXEC)
	if err != nil {
		return unknown
	}
	content := binary.LittleEndian.AppendUint64(nil, p.GPU.ProcessID())
	if _, err := unix.Pwrite(fd, append(content, handle...), 0); err != nil {
		_ = unix.Close(fd)
		return unknown
	}
	binary.NativeEndian.PutUint32(memory(w[2], 4), uint32(fd))
	return 0
}

func (p *Process) importPage(w *words) int {
	pid, handle := uint64(0), []byte(nil)
	if w[0] != 0 {
		handle = append(handle, memory(w[1], 64)...)
	} else {
		content := make([]byte, descriptorBytes)
		if n, err := unix.Pread(int(int32(w[1])), content, 0); err != nil || n != descriptorBytes {
			return unknown
		}
		pid, handle = binary.LittleEndian.Uint64(content), content[8:]
	}
	page, err := p.GPU.ImportPage(pid, share(w[0]), handle)
	w[2] = C.uint64_t(page)
	return number(err)
}
