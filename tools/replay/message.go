package replay

import (
	"regexp"
	"strings"

	"gaugeblock/spec"
)

// An out-of-memory message is prose, and every allocator has its own. What can be
// compared are the sizes in it, as they are written there: rounded to two
// decimals. PyTorch 2.11 writes
//
//	CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity
//	of 139.80 GiB of which 130.41 GiB is free. [Process 464 has ...] 200.00 MiB
//	allowed; Of the allocated memory 174.35 MiB is allocated by PyTorch, with
//	1.00 MiB allocated in private pools (e.g., CUDA Graphs), and 23.65 MiB is
//	reserved by PyTorch but unallocated. ...
//
// where the limit and the private pools may be missing. Of a request that no
// device could hold it says so, and nothing is compared.

// isMessage reports whether the text is such a message.
func isMessage(text string) bool { return strings.HasPrefix(text, "CUDA out of memory.") }

// messageSize is a size that a message may have in it.
type messageSize struct {
	name       string
	pattern    *regexp.Regexp // how the message writes it
	bytes      func(e *spec.OutOfMemoryError) (bytes uint64, known bool)
	deviceFree bool // it is of memory that others use too
}

var messageSizes = []messageSize{
	{
		name:    "tried to allocate",
		pattern: sizePattern(`Tried to allocate SIZE\.`),
		bytes:   func(e *spec.OutOfMemoryError) (uint64, bool) { return e.SegmentSize, true },
	},
	{
		name:    "total capacity",
		pattern: sizePattern(`total capacity of SIZE`),
		bytes:   func(e *spec.OutOfMemoryError) (uint64, bool) { return e.DeviceTotal, true },
	},
	{
		name:       "free",
		pattern:    sizePattern(`of which SIZE is free`),
		bytes:      func(e *spec.OutOfMemoryError) (uint64, bool) { return e.DeviceFree, true },
		deviceFree: true,
	},
	{
		name:    "allowed",
		pattern: sizePattern(`SIZE allowed;`),
		bytes:   func(e *spec.OutOfMemoryError) (uint64, bool) { return e.Limit, e.Limited },
	},
	{
		name:    "allocated",
		pattern: sizePattern(`Of the allocated memory SIZE is allocated`),
		bytes:   func(e *spec.OutOfMemoryError) (uint64, bool) { return e.Allocated, true },
	},
	{
		name:    "private pools",
		pattern: sizePattern(`with SIZE allocated in private pools`),
		bytes:   func(e *spec.OutOfMemoryError) (uint64, bool) { return e.PrivatePools, e.PrivatePools > 0 },
	},
	{
		name:    "reserved but unallocated",
		pattern: sizePattern(`and SIZE is reserved`),
		bytes:   func(e *spec.OutOfMemoryError) (uint64, bool) { return e.Unallocated, true },
	},
}

// sizePattern compiles a pattern in which SIZE stands for a size.
func sizePattern(pattern string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(pattern, "SIZE", `([0-9.]+ (?:bytes|KiB|MiB|GiB))`))
}

// in reads the size in a message, "" if it is not there.
func (s *messageSize) in(message string) string {
	if m := s.pattern.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

// of writes the size as the message for the error would have it.
func (s *messageSize) of(e *spec.OutOfMemoryError) string {
	bytes, known := s.bytes(e)
	if !known || e.SegmentSize == 0 {
		return ""
	}
	return spec.FormatSize(bytes)
}

// compareMessage compares the sizes of a message with those of an error.
func (t tolerance) compareMessage(message string, e *spec.OutOfMemoryError) *Difference {
	for i := range messageSizes {
		s := &messageSizes[i]
		if s.deviceFree && t.deviceFree {
			continue
		}
		if want, got := s.in(message), s.of(e); want != got {
			return differs("message, "+s.name, orNone(want), orNone(got))
		}
	}
	return nil
}

// CompareMessage compares the sizes in an out-of-memory message of PyTorch with those of
// an error. what is empty if they are equal.
func CompareMessage(message string, e *spec.OutOfMemoryError) (what, want, got string) {
	if d := (tolerance{}).compareMessage(message, e); d != nil {
		return d.Field, d.Expected, d.Got
	}
	return "", "", ""
}
