package fakegpu

import (
	"math/bits"

	"github.com/tidwall/btree"
)

// What memory holds. Storing it byte by byte would take as much memory as the
// device has, so it is stored as runs: stretches that hold the same eight bytes
// over and over. That is enough for everything that can be written: a fill
// repeats one byte, a kernel its tag, a copy what was there. (Under a schedule the
// tag is mixed with a digest of what the kernel has read, so that a wrong read is
// passed on to where somebody looks.)
//
// The eight bytes of a run are a word. The byte at offset x of a backing is byte
// x mod 8 of the word, the lowest being byte 0; so runs can be cut anywhere
// without changing their words, and moving one by n bytes rotates its word by n
// bytes.

// neverWritten is what memory holds before anything is written to it.
const neverWritten uint64 = 0xa5a5a5a5a5a5a5a5

// contents is what a backing holds: runs by their first byte, which do not
// overlap. Between them nothing was ever written. The zero value is new memory.
type contents struct {
	runs btree.Map[uint64, run]
}

type run struct {
	end  uint64
	word uint64
}

// wordOf repeats a byte.
func wordOf(value byte) uint64 { return uint64(value) * 0x0101010101010101 }

// tagOf is the word that a piece of work writes, different for each: a mixing
// function that loses nothing (the end of splitmix64), so that single bytes differ
// too, mostly.
func tagOf(id uint64) uint64 {
	id = (id ^ id>>30) * 0xbf58476d1ce4e5b9
	id = (id ^ id>>27) * 0x94d049bb133111eb
	return id ^ id>>31
}

// digest is a number for what a range holds, the same however it is cut into runs.
func digest(all []stretch) uint64 {
	sum := uint64(0)
	for i, s := range all {
		if i == 0 || s.word != all[i-1].word {
			sum = tagOf(sum^s.from) ^ s.word
		}
	}
	return tagOf(sum)
}

// digestOf is a number for what the parts hold.
func digestOf(parts []part) uint64 {
	switch {
	case inHost(parts):
		return digestHost(parts)
	case someInHost(parts):
		return digestHost([]part{{backing: &backing{host: read(parts, bytesIn(parts))}, to: bytesIn(parts)}})
	}
	return digest(gather(parts))
}

// moved is the word of a run that was moved up by a number of bytes.
func moved(word, by uint64) uint64 { return bits.RotateLeft64(word, int(by&7)*8) }

// set makes [from, to) hold a word.
func (c *contents) set(from, to, word uint64) {
	c.cut(from)
	c.cut(to)
	for {
		begin, found := c.firstFrom(from)
		if !found || begin >= to {
			break
		}
		c.runs.Delete(begin)
	}
	c.runs.Set(from, run{to, word})
}

// firstFrom finds the first run that does not begin before an offset.
func (c *contents) firstFrom(at uint64) (begin uint64, found bool) {
	c.runs.Ascend(at, func(b uint64, _ run) bool {
		begin, found = b, true
		return false
	})
	return begin, found
}

// cut makes a run that crosses an offset into two.
func (c *contents) cut(at uint64) {
	var begin uint64
	var crossing run
	c.runs.Descend(at, func(b uint64, r run) bool {
		begin, crossing = b, r
		return false
	})
	if begin < at && at < crossing.end {
		c.runs.Set(begin, run{at, crossing.word})
		c.runs.Set(at, run{crossing.end, crossing.word})
	}
}

// each visits what [from, to) holds, in order and without gaps.
func (c *contents) each(from, to uint64, visit func(from, to, word uint64)) {
	at := from
	show := func(begin uint64, r run) bool {
		if begin >= to {
			return false
		}
		if begin > at {
			visit(at, begin, neverWritten)
			at = begin
		}
		if r.end > at {
			visit(at, min(r.end, to), r.word)
			at = min(r.end, to)
		}
		return at < to
	}
	c.runs.Descend(from, func(begin uint64, r run) bool {
		show(begin, r)
		return false
	})
	c.runs.Ascend(from, show)
	if at < to {
		visit(at, to, neverWritten)
	}
}

// write makes all parts hold a word.
func write(parts []part, word uint64) {
	for _, p := range parts {
		if p.backing.host != nil {
			fillWord(p.bytesOf(), p.from, word)
			continue
		}
		p.backing.contents.set(p.from, p.to, word)
	}
}

// stretch is a run seen from the beginning of a range that may lie in several
// backings.
type stretch struct {
	from, to uint64
	word     uint64
}

// gather lists what the parts hold, one behind the other.
func gather(parts []part) []stretch {
	var all []stretch
	base := uint64(0)
	for _, p := range parts {
		up := base - p.from // modulo 2^64, which is a multiple of 8
		p.backing.contents.each(p.from, p.to, func(from, to, word uint64) {
			all = append(all, stretch{from + up, to + up, moved(word, up)})
		})
		base += p.to - p.from
	}
	return all
}

// copyParts makes the targets hold what the sources hold. All is read before
// anything is written, so that they may overlap.
func copyParts(targets, sources []part) {
	switch {
	case inHost(sources) && inHost(targets):
		copyHost(targets, sources)
		return
	case someInHost(sources) || someInHost(targets):
		writeBytes(targets, read(sources, bytesIn(sources)))
		return
	}
	all := gather(sources)
	base := uint64(0)
	for _, p := range targets {
		up, end := p.from-base, base+p.to-p.from
		for _, s := range all {
			from, to := max(s.from, base), min(s.to, end)
			if from < to {
				p.backing.contents.set(from+up, to+up, moved(s.word, up))
			}
		}
		base = end
	}
}

// read gives the bytes that the parts hold, one behind the other.
func read(parts []part, bytes uint64) []byte {
	if inHost(parts) {
		return append([]byte(nil), readHost(parts)...)
	}
	if someInHost(parts) {
		var all []byte
		for i := range parts {
			all = append(all, read(parts[i:i+1], bytesIn(parts[i:i+1]))...)
		}
		return all
	}
	data := make([]byte, bytes)
	for _, s := range gather(parts) {
		for x := s.from; x < s.to; x++ {
			data[x] = byte(s.word >> (8 * (x & 7)))
		}
	}
	return data
}
