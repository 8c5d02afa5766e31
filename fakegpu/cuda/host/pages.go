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

// export writes a fabric handle, or makes a file descriptor of the system that stands for
// the machine's: programs close descriptors, and copy them from process to process.
func (p *Process) export(w *words) int {
	content, result := p.exported(spec.PageHandle(w[0]), share(w[1]))
	switch {
	case result != 0:
		return result
	case w[1] != 0:
		copy(memory(w[2], 64), content)
		return 0
	}
	return putDescriptor(w[2], content)
}

// exported is a fabric handle, or what is in the file of a descriptor.
func (p *Process) exported(page spec.PageHandle, share spec.ShareType) ([]byte, int) {
	handle, err := p.GPU.ExportPage(page, share)
	if err == nil && share == spec.SharePOSIX {
		handle = append(binary.LittleEndian.AppendUint64(nil, p.GPU.ProcessID()), handle...)
	}
	return handle, number(err)
}

// putDescriptor makes a descriptor of a file with the content, and writes it to an int.
func putDescriptor(address C.uint64_t, content []byte) int {
	fd, err := unix.MemfdCreate("fake page", unix.MFD_CLOEXEC)
	if err != nil {
		return unknown
	}
	if _, err := unix.Pwrite(fd, content, 0); err != nil {
		_ = unix.Close(fd)
		return unknown
	}
	binary.NativeEndian.PutUint32(memory(address, 4), uint32(fd))
	return 0
}

// contentOf is the content of a descriptor's file, or a fabric handle; nil if it is neither.
func contentOf(w *words) []byte {
	if w[0] != 0 {
		return append([]byte(nil), memory(w[1], 64)...)
	}
	content := make([]byte, descriptorBytes)
	if n, err := unix.Pread(int(int32(w[1])), content, 0); err != nil || n != descriptorBytes {
		return nil
	}
	return content
}

func (p *Process) importPage(w *words) int {
	page, result := p.imported(contentOf(w), share(w[0]))
	w[2] = C.uint64_t(page)
	return result
}

// imported makes a page of what another process has exported.
func (p *Process) imported(content []byte, share spec.ShareType) (spec.PageHandle, int) {
	pid := uint64(0)
	if share == spec.SharePOSIX {
		if len(content) != descriptorBytes {
			return 0, unknown
		}
		pid, content = binary.LittleEndian.Uint64(content), content[8:]
	}
	page, err := p.GPU.ImportPage(pid, share, content)
	return page, number(err)
}
