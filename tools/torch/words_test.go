package torch

import (
	"fmt"
	"strconv"
	"strings"

	"gaugeblock/internal/sizes"
	"gaugeblock/spec"
)

// words are those of a line of a program, and the first thing that is wrong with them.
type words struct {
	fields []string
	err    error
}

func (w *words) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// take takes the first word.
func (w *words) take() string {
	if len(w.fields) == 0 {
		w.fail("a word is missing")
		return ""
	}
	first := w.fields[0]
	w.fields = w.fields[1:]
	return first
}

// has reports whether a word is there.
func (w *words) has(word string) bool {
	for _, f := range w.fields {
		if f == word {
			return true
		}
	}
	return false
}

// argument is the value of key=value, or what stands in for it.
func (w *words) argument(key, missing string) string {
	for _, f := range w.fields {
		if value, found := strings.CutPrefix(f, key+"="); found {
			return value
		}
	}
	return missing
}

func (w *words) number(key string, missing int) int {
	n, err := strconv.Atoi(w.argument(key, strconv.Itoa(missing)))
	if err != nil {
		w.fail("%s= is not a number", key)
	}
	return n
}

// device is the argument dev=N.
func (w *words) device() spec.Device { return spec.Device(w.number("dev", 0)) }

// pool is the argument pool=N, for the pool (0, N).
func (w *words) pool() spec.PoolID { return spec.PoolID{User: uint64(w.number("pool", 0))} }

// size reads a number of bytes, or "5MiB", or a sum like "20MiB+512B".
func (w *words) size(text string) uint64 {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n
	}
	n, err := sizes.Parse(text)
	if err != nil {
		w.fail("%v", err)
	}
	return n
}
