package fakegpu

import (
	"bytes"
	"encoding/binary"

	"gaugeblock/spec"
)

// Sharing memory between the processes of a machine. A piece of Malloc is shared
// by a handle of 64 bytes that names it; a page by a file descriptor, which means
// something only together with the process that has it, or by a fabric handle,
// which means the same everywhere.
//
// The memory outlives the process that made it as long as another has it open, or
// has a page of it.

// handleBytes is the size of cudaIpcMemHandle_t and of CUmemFabricHandle.
const handleBytes = 64

// Every handle begins with what it is.
var (
	pieceMagic  = [8]byte{'f', 'a', 'k', 'e', 'p', 'i', 'e', 'c'}
	fabricMagic = [8]byte{'f', 'a', 'k', 'e', 'f', 'a', 'b', 'r'}
)

// encodeHandle packs numbers into a handle.
func encodeHandle(magic [8]byte, numbers ...uint64) []byte {
	h := make([]byte, 0, handleBytes)
	h = append(h, magic[:]...)
	for _, n := range numbers {
		h = binary.LittleEndian.AppendUint64(h, n)
	}
	return h[:handleBytes]
}

// decodeHandle is its inverse.
func decodeHandle(magic [8]byte, handle []byte) (numbers [7]uint64, ok bool) {
	if len(handle) != handleBytes || !bytes.HasPrefix(handle, magic[:]) {
		return numbers, false
	}
	for i := range numbers {
		numbers[i] = binary.LittleEndian.Uint64(handle[8*(i+1):])
	}
	return numbers, true
}

// process finds a process that has not ended; nil if there is none.
func (m *Machine) process(pid uint64) *GPU {
	if pid == 0 || pid > uint64(len(m.processes)) || m.processes[pid-1].exited {
		return nil
	}
	return m.processes[pid-1]
}

// ShareMemory implements spec.MemorySharing. The handle of a piece is always the
// same.
func (g *GPU) ShareMemory(dev spec.Device, ptr spec.Ptr) ([]byte, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callShareMemory); err != nil {
		return nil, err
	}
	if _, err := g.view(callShareMemory, dev); err != nil {
		return nil, err
	}
	a := g.space.piece(areaPiece, ptr)
	if a == nil || a.device != dev {
		return nil, cudaErrorInvalidValue.in(callShareMemory, "%v is not a piece that Malloc gave on device %d", ptr, dev)
	}
	return encodeHandle(pieceMagic, g.pid, uint64(ptr), a.backing.id), nil
}

// OpenMemory implements spec.MemorySharing. A process cannot open its own memory.
// Of a handle that is open already the real driver gives the same pointer again
// and counts; the contract forbids it.
func (g *GPU) OpenMemory(dev spec.Device, handle []byte) (spec.Ptr, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callOpenMemory); err != nil {
		return 0, err
	}
	if _, err := g.view(callOpenMemory, dev); err != nil {
		return 0, err
	}
	numbers, ok := decodeHandle(pieceMagic, handle)
	if !ok {
		return 0, cudaErrorInvalidValue.in(callOpenMemory, "%d bytes that are no handle of ShareMemory", len(handle))
	}
	b, err := g.shared(numbers[0], spec.Ptr(numbers[1]), numbers[2])
	if err != nil {
		return 0, err
	}
	if b.device != dev && g.machine.config.NoPeerAccess {
		return 0, cudaErrorPeerAccessUnsupported.in(callOpenMemory, "device %d cannot reach device %d", dev, b.device)
	}
	for _, a := range g.space.inOrder() {
		if a.kind == areaOpened && a.backing == b {
			return 0, cudaErrorAlreadyMapped.in(callOpenMemory, "the memory is open at %v", a.Ptr)
		}
	}
	b.refs++
	a := &area{kind: areaOpened, device: dev, backing: b, access: accessOf(dev)}
	a.Range = spec.Range{Ptr: g.space.opened.Place(b.bytes), Bytes: b.bytes}
	if err := g.mapHost(callOpenMemory, a.Ptr, b); err != nil {
		g.machine.drop(b)
		return 0, err
	}
	g.space.areas.Set(a.Ptr, a)
	return a.Ptr, nil
}

// shared finds the memory that a handle names.
func (g *GPU) shared(pid uint64, ptr spec.Ptr, id uint64) (*backing, error) {
	if pid == g.pid {
		return nil, cudaErrorDeviceUninitialized.in(callOpenMemory, "the handle is the process's own")
	}
	exporter := g.machine.process(pid)
	if exporter == nil {
		return nil, cudaErrorInvalidValue.in(callOpenMemory, "process %d, which made the handle, is not there", pid)
	}
	a := exporter.space.piece(areaPiece, ptr)
	if a == nil || a.backing.id != id {
		return nil, cudaErrorInvalidValue.in(callOpenMemory, "process %d has freed the memory", pid)
	}
	return a.backing, nil
}

// CloseMemory implements spec.MemorySharing.
func (g *GPU) CloseMemory(dev spec.Device, ptr spec.Ptr) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callCloseMemory); err != nil {
		return err
	}
	if _, err := g.view(callCloseMemory, dev); err != nil {
		return err
	}
	a := g.space.piece(areaOpened, ptr)
	if a == nil || a.device != dev {
		return cudaErrorInvalidValue.in(callCloseMemory, "%v was not opened on device %d", ptr, dev)
	}
	if g.detector != nil {
		g.detector.returned(callCloseMemory, a.Range, 0)
	}
	g.space.areas.Delete(ptr)
	g.unmapHost(ptr, a.backing)
	g.machine.drop(a.backing)
	return nil
}

// ExportPage implements spec.MemorySharing. A file descriptor is written as eight
// bytes, the lowest first. It does not keep the memory: the contract has no call
// to close it.
func (g *GPU) ExportPage(handle spec.PageHandle, share spec.ShareType) ([]byte, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callExportPage); err != nil {
		return nil, err
	}
	p, err := g.page(callExportPage, handle)
	if err != nil {
		return nil, err
	}
	if p.share != share {
		return nil, driverInvalidValue.in(callExportPage, "the page was created to be shared by %v, not by %v", p.share, share)
	}
	if share == spec.ShareFabric {
		g.machine.fabric[p.backing.id] = p.backing
		return encodeHandle(fabricMagic, p.backing.id), nil
	}
	fd := g.newHandle()
	g.exports[fd] = p.backing
	return binary.LittleEndian.AppendUint64(nil, fd), nil
}

// ImportPage implements spec.MemorySharing.
func (g *GPU) ImportPage(pid uint64, share spec.ShareType, handle []byte) (spec.PageHandle, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callImportPage); err != nil {
		return 0, err
	}
	find := g.importFD
	if share == spec.ShareFabric {
		find = g.importFabric
	}
	b, err := find(pid, handle)
	if err != nil {
		return 0, err
	}
	if b.refs == 0 {
		return 0, driverInvalidHandle.in(callImportPage, "the memory has been released")
	}
	b.refs++
	return g.addPage(&page{backing: b, share: share, imported: true}), nil
}

// importFD finds what a file descriptor of a process refers to.
func (g *GPU) importFD(pid uint64, handle []byte) (*backing, error) {
	exporter := g.machine.process(pid)
	switch {
	case len(handle) != 8:
		return nil, driverInvalidValue.in(callImportPage, "%d bytes that are no file descriptor", len(handle))
	case exporter == nil:
		return nil, driverInvalidValue.in(callImportPage, "process %d is not there", pid)
	}
	fd := binary.LittleEndian.Uint64(handle)
	b := exporter.exports[fd]
	if b == nil {
		return nil, driverUnknown.in(callImportPage, "process %d has no file descriptor %d", pid, fd)
	}
	return b, nil
}

// importFabric finds what a fabric handle refers to; whose it was does not matter.
func (g *GPU) importFabric(_ uint64, handle []byte) (*backing, error) {
	numbers, ok := decodeHandle(fabricMagic, handle)
	if !ok {
		return nil, driverInvalidValue.in(callImportPage, "%d bytes that are no fabric handle", len(handle))
	}
	b := g.machine.fabric[numbers[0]]
	if b == nil {
		return nil, driverInvalidValue.in(callImportPage, "no page has this fabric handle")
	}
	return b, nil
}
