// Package mutated makes damaged files of good ones, for tests of what reads files.
package mutated

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
)

// hostile are texts that readers may take for something.
var hostile = []string{
	"-1", "0", "1e999", "18446744073709551615", "18446744073709551616", "-9223372036854775809", "NaN", "null", "true", "\"", "'", "\\", "{", "}", "[", "]", ",", ":",
	"\x00", "\xff\xfe", "\u2028", "\u202e", "\x1b[2J", "</script><script>", "<img src=x onerror=alert(1)>", "${x}", "%s%n", "../../../../etc/passwd", "\r\n", "\n\n", "\ufeff",
	"segments", "device_traces", "allocator-trace", "{\"end\":true}\n", "\x80\x04", "\x1f\x8b", "PK\x03\x04", "PK\x05\x06", "\xfd7zXZ\x00", "cos\nsystem\n", "(S'x'\ntR.", "\x93", "R", "."}

// Bytes is a damaged copy: one change of a byte, a piece or a number, or an end that is cut off; in a third
// of the copies up to four. Another good file may give pieces.
func Bytes(r *rand.Rand, good, other []byte) []byte {
	text := bytes.Clone(good)
	changes := 1
	if r.IntN(3) == 0 {
		changes = 1 + r.IntN(4)
	}
	for range changes {
		text = change(r, text, other)
	}
	return text
}

func change(r *rand.Rand, text, other []byte) []byte {
	if len(text) == 0 {
		return []byte(hostile[r.IntN(len(hostile))])
	}
	from, to := piece(r, text)
	switch r.IntN(10) {
	case 0: // a bit
		text[from] ^= 1 << r.IntN(8)
	case 1: // some bytes
		for i := from; i < min(to, from+8); i++ {
			text[i] = byte(r.Uint32())
		}
	case 2: // cut off
		return text[:from]
	case 3: // a piece is left out
		return append(text[:from:from], text[to:]...)
	case 4: // a piece twice, or very often
		times := 1
		if r.IntN(8) == 0 {
			times = 1 + r.IntN(2000)
		}
		return insert(text, to, bytes.Repeat(text[from:to], times))
	case 5: // a piece of another file
		if len(other) > 0 {
			start, end := piece(r, other)
			return insert(text, from, other[start:end])
		}
	case 6, 7: // something hostile
		return insert(text, from, []byte(hostile[r.IntN(len(hostile))]))
	case 8: // another number of four or eight bytes
		for i, b := range binary.LittleEndian.AppendUint64(nil, r.Uint64()>>r.IntN(64))[:4+4*r.IntN(2)] {
			if from+i < len(text) {
				text[from+i] = b
			}
		}
	case 9: // two digits
		if at := bytes.IndexAny(text[from:], "0123456789"); at >= 0 {
			return insert(text, from+at, []byte([]string{"9", "-", "99999999999", "."}[r.IntN(4)]))
		}
	}
	return text
}

// piece is where a piece begins and ends: most are short.
func piece(r *rand.Rand, text []byte) (from, to int) {
	from = r.IntN(len(text))
	most := 40
	if r.IntN(5) == 0 {
		most = len(text)
	}
	return from, min(len(text), from+1+r.IntN(most))
}

func insert(text []byte, at int, piece []byte) []byte {
	return append(append(append(make([]byte, 0, len(text)+len(piece)), text[:at]...), piece...), text[at:]...)
}
