package errortext

import (
	"fmt"
	"regexp"
	"strconv"

	"gaugeblock/spec"
)

// Warning is what PyTorch 2.13 and later log when the driver refuses memory, in bytes that are not
// rounded. Such a request may still be served: cached memory is returned, and the driver is asked
// again.
type Warning struct {
	Device     int    `json:"device"`
	Expandable bool   `json:"expandable"` // pages of an expandable segment were refused, not a segment
	Asked      uint64 `json:"asked"`      // of the driver
	Free       uint64 `json:"free"`
	Total      uint64 `json:"total"`
	at         int    // in the squeezed text
}

var warning = regexp.MustCompile(`(expandable_segments:memorymapping|memoryallocation)failedwithOOMondevice(\d+)whiletryingto(?:map|allocate)(\d+)bytes\(free:(\d+),total:(\d+)\)`)

// findWarnings finds the warnings of a squeezed text, in its order.
func findWarnings(squeezed string) (list []Warning) {
	for _, at := range warning.FindAllStringSubmatchIndex(squeezed, -1) {
		var n [4]uint64
		var err error
		for i := range n {
			if n[i], err = strconv.ParseUint(squeezed[at[2*i+4]:at[2*i+5]], 10, 62); err != nil {
				break
			}
		}
		if err == nil {
			list = append(list, Warning{int(n[0]), squeezed[at[2]] == 'e', n[1], n[2], n[3], at[0]})
		}
	}
	return list
}

// readWarnings takes the last warning before an error, from an earlier error on, that is of its
// device: the sizes of the error are those of the warning, rounded. Where they are not, other memory
// was freed in between, and the error has its own.
func (m *Message) readWarnings(list []Warning, from, to int) {
	for i := range list {
		w := &list[i]
		if w.at < from || w.at >= to || w.Device != m.Device {
			continue
		}
		m.Expandable = m.Expandable || w.Expandable
		m.Warning = w
	}
	if m.Warning == nil {
		return
	}
	exact(m.Free, m.Warning.Free)
	exact(m.Capacity, m.Warning.Total)
}

// exact takes a size for the one that is rounded in the text, if it can be.
func exact(s *Size, bytes uint64) {
	if s != nil && s.Low <= bytes && bytes <= s.High {
		s.Low, s.High = bytes, bytes
	}
}

// warned is a message of a text that has warnings and no error; nil if it has none.
func warned(list []Warning) *Message {
	if len(list) == 0 {
		return nil
	}
	w := &list[len(list)-1]
	exactly := func(bytes uint64) *Size { return &Size{bytes, bytes, spec.FormatSize(bytes)} }
	return &Message{Kind: Warned, Backend: "CUDA", Device: w.Device, Times: len(list), Expandable: w.Expandable, Warning: w,
		Asked: exactly(w.Asked), Free: exactly(w.Free), Capacity: exactly(w.Total)}
}

// bytesInWarning says what the warning before an error has in bytes.
func (m *Message) bytesInWarning() string {
	w := m.Warning
	if w == nil || m.Kind == Warned {
		return ""
	}
	what := "a segment"
	if w.Expandable {
		what = "pages of an expandable segment"
	}
	return fmt.Sprintf("A warning before the error has bytes: the driver refused %d for %s when %d of %d were free.", w.Asked, what, w.Free, w.Total)
}
