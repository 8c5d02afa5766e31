package snapshot

import (
	"unsafe"

	"gaugeblock/internal/memlimit"
	"gaugeblock/spec"
)

// DefaultMemory is how much memory a snapshot may take, in bytes.
const DefaultMemory = memlimit.Default

// A budget bounds the memory that reading takes, by what is made of a file and not by its
// length: 20 KB can be unpacked to 20 MB, which can be 1 GB of lists. Everything is paid
// for before, or when, it is made. What is counted is an estimate: Go's maps, and slices that
// grow, take up to twice what is in them.
type budget struct {
	limit uint64 // bytes
	left  uint64 // bytes
}

func newBudget(limit uint64) *budget { return &budget{limit, limit - limit/spare} }

// spare: one part in as many of the memory is for what is not counted. The garbage collector needs
// no more, since it works harder near the limit (debug.SetMemoryLimit).
const spare = 3

// take pays for bytes at an offset of the file.
func (b *budget) take(bytes uint64, offset int64) error {
	if bytes > b.left {
		return failAt(offset, "the snapshot takes more than %d bytes of memory; --max-memory sets another limit", b.limit)
	}
	b.left -= bytes
	return nil
}

// give takes a payment back.
func (b *budget) give(bytes uint64) { b.left += bytes }

// The sizes of what is made, in bytes.
const (
	valueBytes      = uint64(unsafe.Sizeof(value{}))
	sequenceBytes   = uint64(unsafe.Sizeof(sequence{}))
	dictPlaceBytes  = uint64(unsafe.Sizeof(dictPlace(0)))
	entryBytes      = uint64(unsafe.Sizeof(TraceEntry{}))
	contextBytes    = uint64(unsafe.Sizeof(Context{})+unsafe.Sizeof(contextKey{})) + mapBytes
	frameBytes      = uint64(unsafe.Sizeof(Frame{}))
	pointerBytes    = uint64(unsafe.Sizeof(&Frame{}))
	segmentBytes    = uint64(unsafe.Sizeof(spec.Segment{}))
	blockBytes      = uint64(unsafe.Sizeof(spec.Block{}))
	annotationBytes = uint64(unsafe.Sizeof(spec.Annotation{}))
	fieldBytes      = uint64(unsafe.Sizeof(spec.AnnotationField{}))
	mapBytes        = uint64(64) // an element of a map, beside a string that is its key
)
