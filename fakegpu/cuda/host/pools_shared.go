//go:build cgo && linux

package host

/*
#include "gaugeblock_cuda_table.h"
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"gaugeblock/spec"
)

// Pools that others open (cudaMemPoolExportToShareableHandle). A descriptor, and what stands for a piece of memory,
// are numbers; all processes of a machine are in this one. What is opened has addresses of its own, to which the
// pages of the exporting pool are mapped. It takes no request and has no attributes. (An H200 said so:
// testdata/exports.txt.)

// shared is what was exported, by numbers.
var shared struct {
	sync.Mutex
	last   uint64
	pools  map[uint64]*driverPool
	pieces map[uint64]sharedPiece
}

// sharedPiece is memory of a pool that was allocated when it was exported.
type sharedPiece struct {
	of     *Process
	pool   *driverPool
	at     spec.Ptr
	offset uint64 // in the pool's arena
	bytes  uint64
}

// openedPiece is such memory at the addresses of who has opened it.
type openedPiece struct {
	spec.Range // of whole pages
	pages      []spec.PageHandle
	offset     uint64           // of the memory in the exporting pool's arena
	event      spec.EventHandle // behind the free
}

func (p *Process) sharedOperation(operation C.int, w *words) (int, bool) {
	switch operation {
	case C.GAUGEBLOCK_POOL_EXPORT:
		content, result := p.exportPool(uint64(w[0]))
		if result == 0 {
			result = putDescriptor(w[2], content)
		}
		return result, true
	case C.GAUGEBLOCK_POOL_IMPORT:
		return p.importPool(contentOf(w), w), true
	case C.GAUGEBLOCK_PIECE_EXPORT:
		return p.exportPiece(w), true
	case C.GAUGEBLOCK_PIECE_IMPORT:
		return p.importPiece(w), true
	}
	return 0, false
}

// exportPool is what is in the file of the descriptor.
func (p *Process) exportPool(id uint64) ([]byte, int) {
	p.pools.mu.Lock()
	defer p.pools.mu.Unlock()
	pool := p.pools.byID[id]
	if pool == nil || !pool.shareable || pool.destroyed {
		return nil, invalidValue
	}
	shared.Lock()
	defer shared.Unlock()
	shared.last++
	if shared.pools == nil {
		shared.pools, shared.pieces = map[uint64]*driverPool{}, map[uint64]sharedPiece{}
	}
	shared.pools[shared.last] = pool
	content := binary.LittleEndian.AppendUint64(make([]byte, 0, descriptorBytes), poolMagic)
	return binary.LittleEndian.AppendUint64(content, shared.last), 0
}

// poolMagic is the beginning of a pool's descriptor, where that of a page has a process.
const poolMagic = 0x6c6f6f70656b6166

func (p *Process) importPool(content []byte, w *words) int {
	if len(content) != descriptorBytes || binary.LittleEndian.Uint64(content) != poolMagic {
		return invalidValue
	}
	shared.Lock()
	of := shared.pools[binary.LittleEndian.Uint64(content[8:])]
	shared.Unlock()
	if of == nil {
		return invalidValue
	}
	d := &p.pools
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pool(p, 0, 0) // which makes the devices' own
	d.next += streamStep
	d.byID[d.next] = newDriverPool(p.GPU, of.device)
	d.byID[d.next].opens = of
	w[2] = C.uint64_t(d.next)
	return 0
}

// exportPiece answers the number that stands for an allocation.
func (p *Process) exportPiece(w *words) int {
	p.pools.mu.Lock()
	defer p.pools.mu.Unlock()
	piece, is := p.pools.pieces.Get(ptr(w[0]))
	if !is || !piece.pool.shareable {
		return invalidValue
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.pieces == nil {
		return invalidValue // no pool was exported
	}
	shared.last++
	shared.pieces[shared.last] = sharedPiece{p, piece.pool, piece.memory.Ptr, uint64(piece.memory.Ptr - piece.pool.base), piece.memory.Bytes}
	w[1] = C.uint64_t(shared.last)
	return 0
}

// contents are the descriptors of the pages that a piece has memory in, as ExportPage writes them. Of pages that went
// back to the device meanwhile there is none.
func (s *sharedPiece) contents() (list [][]byte) {
	s.of.pools.mu.Lock()
	defer s.of.pools.mu.Unlock()
	for step := s.offset / arenaStep; step*arenaStep < s.offset+s.bytes; step++ {
		content := []byte(nil)
		if page, there := s.pool.pages[step]; there {
			content, _ = s.of.GPU.ExportPage(page, spec.SharePOSIX)
		}
		list = append(list, content)
	}
	return list
}

// importPiece gives memory of an opened pool addresses. What is open already has the same.
func (p *Process) importPiece(w *words) int {
	shared.Lock()
	piece, known := shared.pieces[uint64(w[1])]
	shared.Unlock()
	if !known {
		return invalidValue
	}
	contents := piece.contents()
	d := &p.pools
	d.mu.Lock()
	defer d.mu.Unlock()
	pool := d.byID[uint64(w[0])]
	if pool == nil || pool.opens != piece.pool {
		return invalidValue
	}
	if at := d.openAt(pool, piece.offset); at != 0 {
		w[2] = C.uint64_t(at)
		return 0
	}
	opened, err := p.mapPiece(pool.device, piece.of.GPU.ProcessID(), contents)
	if err != nil {
		return number(err)
	}
	opened.offset = piece.offset
	at := opened.Ptr + spec.Ptr(piece.offset%arenaStep)
	d.pieces.Set(at, &pooledPiece{pool: pool, memory: spec.Range{Ptr: at, Bytes: piece.bytes}, opened: opened})
	w[2] = C.uint64_t(at)
	return 0
}

func (p *Process) mapPiece(dev spec.Device, pid uint64, contents [][]byte) (*openedPiece, error) {
	o := &openedPiece{Range: spec.Range{Bytes: uint64(len(contents)) * arenaStep}}
	var err error
	if o.Ptr, err = p.GPU.ReserveAddress(dev, o.Bytes); err != nil {
		return nil, err
	}
	for i, content := range contents {
		at := o.Ptr + spec.Ptr(uint64(i)*arenaStep)
		page := spec.PageHandle(0)
		if content != nil {
			page, err = p.openPage(dev, at, pid, content)
		}
		if err != nil {
			return nil, errors.Join(err, p.unmapPiece(o))
		}
		o.pages = append(o.pages, page)
	}
	return o, nil
}

// openPage imports a page and maps it. Where a call fails, nothing is left of it.
func (p *Process) openPage(dev spec.Device, at spec.Ptr, pid uint64, content []byte) (spec.PageHandle, error) {
	page, err := p.GPU.ImportPage(pid, spec.SharePOSIX, content)
	if err != nil {
		return 0, err
	}
	if err = p.GPU.MapPage(at, arenaStep, page); err != nil {
		return 0, errors.Join(err, p.GPU.ReleasePage(page))
	}
	if err = p.GPU.SetAccess(at, arenaStep, dev); err != nil {
		return 0, errors.Join(err, p.GPU.UnmapPage(at, arenaStep), p.GPU.ReleasePage(page))
	}
	return page, nil
}

func (p *Process) unmapPiece(o *openedPiece) (err error) {
	for i, page := range o.pages {
		if page != 0 {
			err = errors.Join(err, p.GPU.UnmapPage(o.Ptr+spec.Ptr(uint64(i)*arenaStep), arenaStep), p.GPU.ReleasePage(page))
		}
	}
	return errors.Join(err, p.GPU.FreeAddress(o.Ptr, o.Bytes))
}

// freeOpened frees opened memory; its addresses go when somebody waits.
func (p *Process) freeOpened(piece *pooledPiece, event spec.EventHandle) int {
	p.pools.pieces.Delete(piece.memory.Ptr)
	piece.opened.event = event
	p.pools.closing = append(p.pools.closing, piece.opened)
	return 0
}

// closeWaited lets the addresses go that the streams are through with.
func (p *Process) closeWaited() (err error) {
	p.pools.closing = slices.DeleteFunc(p.pools.closing, func(o *openedPiece) bool {
		complete, failed := p.GPU.QueryEvent(o.event)
		if failed != nil || !complete {
			return false
		}
		err = errors.Join(err, p.GPU.DestroyEvent(o.event), p.unmapPiece(o))
		return true
	})
	return err
}

// openAt is where memory of an opened pool is; 0: it is not open.
func (d *driverPools) openAt(pool *driverPool, offset uint64) (at spec.Ptr) {
	d.pieces.Scan(func(p spec.Ptr, piece *pooledPiece) bool {
		if piece.pool == pool && piece.opened.offset == offset {
			at = p
		}
		return at == 0
	})
	return at
}

// hasPieces reports whether memory of a pool is there that was not freed.
func (d *driverPools) hasPieces(pool *driverPool) (has bool) {
	d.pieces.Scan(func(_ spec.Ptr, piece *pooledPiece) bool {
		has = piece.pool == pool
		return !has
	})
	return has
}
