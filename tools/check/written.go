package check

import (
	"bytes"
	"fmt"
	"strings"

	"gaugeblock/spec"
)

// written is how a log writes addresses, streams and threads. Results show them so,
// since whoever looks for one in the log looks for its text. The zero value writes
// addresses as CUDA's tools do.
type written struct {
	met     bool // an address
	decimal bool
	upper   bool
	digits  int      // hexadecimal ones of an address that begins with zeros
	streams []string // by index; "" stands for a handle as CUDA's tools write it
	threads []string // by number
}

// table reports whether the log is one, and not a trace.
func (w *written) table() bool { return len(w.streams) > 0 }

// meet learns from the first address.
func (w *written) meet(text []byte) {
	if w.met {
		return
	}
	w.met = true
	switch {
	case len(text) < 3 || text[1] != 'x' && text[1] != 'X':
		w.decimal = true
	case bytes.ContainsAny(text[2:], "ABCDEF"):
		w.upper = true
		fallthrough
	default:
		if text[2] == '0' {
			w.digits = len(text) - 2
		}
	}
}

func (w *written) pointer(p spec.Ptr) string {
	switch {
	case w.decimal:
		return fmt.Sprintf("%d", uint64(p))
	case w.upper:
		return fmt.Sprintf("0x%0*X", w.digits, uint64(p))
	}
	return fmt.Sprintf("0x%0*x", w.digits, uint64(p))
}

func (w *written) thread(t spec.Thread) string {
	if int(t) < len(w.threads) {
		return w.threads[t]
	}
	return fmt.Sprintf("%d", uint64(t))
}

// stream is the stream with an index and a handle.
func (w *written) stream(index int, handle spec.Stream) string {
	if handle == 0 {
		return "0"
	}
	if index < len(w.streams) && w.streams[index] != "" && !strings.HasPrefix(w.streams[index], "(") {
		return w.streams[index]
	}
	return fmt.Sprintf("0x%x", uint64(handle))
}
