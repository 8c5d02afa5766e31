//go:build cgo && linux

package cudaimpl

/*
#include "driver.h"
#include <string.h>

static CUresult ipc_get(CUcontext c, void *handle, CUdeviceptr p) { return IN(c, cu.IpcGetMemHandle((CUhandle *)handle, p)); }
static CUresult ipc_open(CUcontext c, CUdeviceptr *p, const void *handle) {
	CUhandle h;
	memcpy(&h, handle, sizeof h);
	return IN(c, cu.IpcOpenMemHandle(p, h, IPC_LAZY_PEER_ACCESS));
}
static CUresult ipc_close(CUcontext c, CUdeviceptr p) { return IN(c, cu.IpcCloseMemHandle(p)); }
static CUresult export_fd(CUcontext c, int *fd, CUmemHandle h) { return IN(c, cu.MemExport(fd, h, HANDLE_POSIX, 0)); }
static CUresult export_fabric(CUcontext c, void *handle, CUmemHandle h) { return IN(c, cu.MemExport(handle, h, HANDLE_FABRIC, 0)); }
static CUresult import_fd(CUcontext c, CUmemHandle *h, int fd) { return IN(c, cu.MemImport(h, (void *)(intptr_t)fd, HANDLE_POSIX)); }
static CUresult import_fabric(CUcontext c, CUmemHandle *h, void *handle) { return IN(c, cu.MemImport(h, handle, HANDLE_FABRIC)); }
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"gaugeblock/spec"
)

// Memory for other processes. A file descriptor means something only together with
// the process that has it, so who imports a page takes a copy of the descriptor out
// of that process (pidfd_getfd). The system allows that to whoever may trace the
// process: the same user, where Yama does not say otherwise
// (/proc/sys/kernel/yama/ptrace_scope).

// handleBytes is the size of CUDA's handles.
const handleBytes = 64

// ProcessID implements spec.MemorySharing.
func (g *GPU) ProcessID() uint64 { return uint64(os.Getpid()) }

// ShareMemory implements spec.MemorySharing (cuIpcGetMemHandle).
func (g *GPU) ShareMemory(dev spec.Device, ptr spec.Ptr) ([]byte, error) {
	const method = "ShareMemory"
	context, err := g.context(method, dev)
	if err != nil {
		return nil, err
	}
	if _, err := g.ledger.findOn(method, kindPiece, uint64(ptr), dev); err != nil {
		return nil, err
	}
	handle := make([]byte, handleBytes)
	err = check(method, "cuIpcGetMemHandle", C.ipc_get(context, unsafe.Pointer(&handle[0]), C.CUdeviceptr(ptr)))
	if err != nil {
		return nil, err
	}
	return handle, nil
}

// OpenMemory implements spec.MemorySharing (cuIpcOpenMemHandle). Of a handle that is
// open the driver gives the same pointer again, and counts; the contract forbids it.
func (g *GPU) OpenMemory(dev spec.Device, handle []byte) (spec.Ptr, error) {
	const method = "OpenMemory"
	context, err := g.context(method, dev)
	if err != nil {
		return 0, err
	}
	if len(handle) != handleBytes {
		return 0, refuse(method, invalidValue, "a handle has %d bytes, not %d", handleBytes, len(handle))
	}
	if at, open := g.ledger.openedAs(string(handle)); open {
		return 0, refuse(method, alreadyMapped, "the memory is open at %v", at)
	}
	var p C.CUdeviceptr
	if err := check(method, "cuIpcOpenMemHandle", C.ipc_open(context, &p, unsafe.Pointer(&handle[0]))); err != nil {
		return 0, err
	}
	g.ledger.add(kindOpened, uint64(p), entry{device: dev, opened: string(handle)})
	return spec.Ptr(p), nil
}

// openedAs is where a handle's memory is open.
func (l *ledger) openedAs(handle string) (spec.Ptr, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for at, e := range l.things[kindOpened] {
		if e.opened == handle {
			return spec.Ptr(at), true
		}
	}
	return 0, false
}

// CloseMemory implements spec.MemorySharing (cuIpcCloseMemHandle).
func (g *GPU) CloseMemory(dev spec.Device, ptr spec.Ptr) error {
	const method = "CloseMemory"
	context, err := g.context(method, dev)
	if err != nil {
		return err
	}
	if _, err := g.ledger.findOn(method, kindOpened, uint64(ptr), dev); err != nil {
		return err
	}
	if err := check(method, "cuIpcCloseMemHandle", C.ipc_close(context, C.CUdeviceptr(ptr))); err != nil {
		return err
	}
	g.ledger.drop(kindOpened, uint64(ptr))
	return nil
}

// ExportPage implements spec.MemorySharing (cuMemExportToShareableHandle). A file
// descriptor is written as eight bytes, the lowest first. The page has one; it is
// closed when the page is released.
func (g *GPU) ExportPage(page spec.PageHandle, share spec.ShareType) ([]byte, error) {
	const method = "ExportPage"
	e, err := g.ledger.find(method, kindPage, uint64(page))
	if err != nil {
		return nil, err
	}
	if _, err := handleType(method, share); err != nil {
		return nil, err
	}
	context, err := g.context(method, e.device)
	if err != nil {
		return nil, err
	}
	if share == spec.ShareFabric {
		handle := make([]byte, handleBytes)
		err := check(method, "cuMemExportToShareableHandle", C.export_fabric(context, unsafe.Pointer(&handle[0]), C.CUmemHandle(page)))
		if err != nil {
			return nil, err
		}
		return handle, nil
	}
	if !e.hasFD {
		var fd C.int
		if err := check(method, "cuMemExportToShareableHandle", C.export_fd(context, &fd, C.CUmemHandle(page))); err != nil {
			return nil, err
		}
		e.fd, e.hasFD = int(fd), true
		g.ledger.add(kindPage, uint64(page), e)
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(e.fd)), nil
}

// ImportPage implements spec.MemorySharing (cuMemImportFromShareableHandle). The device
// that the memory is of does not show; it counts as one of the first.
func (g *GPU) ImportPage(pid uint64, share spec.ShareType, handle []byte) (spec.PageHandle, error) {
	const method = "ImportPage"
	context, err := g.anyContext(method)
	if err != nil {
		return 0, err
	}
	var page C.CUmemHandle
	switch {
	case share == spec.ShareFabric && len(handle) == handleBytes:
		err = check(method, "cuMemImportFromShareableHandle", C.import_fabric(context, &page, unsafe.Pointer(&handle[0])))
	case share == spec.SharePOSIX && len(handle) == 8:
		var fd int
		if fd, err = descriptorOf(int(pid), int(binary.LittleEndian.Uint64(handle))); err != nil {
			return 0, refuse(method, errorOfThisPackage, "%v", err)
		}
		err = check(method, "cuMemImportFromShareableHandle", C.import_fd(context, &page, C.int(fd)))
		_ = unix.Close(fd) // the driver has what it needs
	default:
		err = refuse(method, invalidValue, "%d bytes that are no %v", len(handle), share)
	}
	if err != nil {
		return 0, err
	}
	g.ledger.add(kindPage, uint64(page), entry{})
	return spec.PageHandle(page), nil
}

// descriptorOf copies a file descriptor out of a process, this one included.
func descriptorOf(pid, fd int) (int, error) {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	defer unix.Close(process)
	copied, err := unix.PidfdGetfd(process, fd, 0)
	if err != nil {
		return 0, fmt.Errorf("file descriptor %d of process %d: %w", fd, pid, err)
	}
	return copied, nil
}
