package fakegpu

import (
	"encoding/binary"
	"slices"

	"gaugeblock/spec"
)

// Memory that the host can reach. Without Config.HostMemory what physical memory holds is
// written down as runs (contents.go), and its addresses mean nothing to the host. With it the
// bytes are in memory of the host, each once; the first process of the machine finds them at
// the device's own addresses, and functions of the host can compute with them there.
//
// What the host does there itself is not seen: no order is looked for, and no right to touch
// the memory. New memory holds zeros.

// HostMemory is memory of the host for a machine. It is called with the machine's lock held.
type HostMemory interface {
	// Obtain makes memory of a size: the slice. Drop gives it back.
	Obtain(bytes uint64) ([]byte, error)
	Drop(memory []byte)
	// Map lets the host find the memory, all of it, at an address as well. Unmap ends that:
	// the host finds nothing there.
	Map(at spec.Ptr, memory []byte) error
	Unmap(at spec.Ptr, bytes uint64)
}

// mapHost lets the host find a backing at an address of the process, if that is the one that
// has the host's addresses.
func (g *GPU) mapHost(c call, at spec.Ptr, b *backing) error {
	if b.host == nil || g.pid != 1 {
		return nil
	}
	if err := g.machine.config.HostMemory.Map(at, b.host); err != nil {
		return cudaErrorUnknown.in(c, "the host cannot map %v: %v", at, err)
	}
	return nil
}

// unmapHost ends that.
func (g *GPU) unmapHost(at spec.Ptr, b *backing) {
	if b.host != nil && g.pid == 1 {
		g.machine.config.HostMemory.Unmap(at, b.bytes)
	}
}

// bytesOf are the bytes of a part, of memory that the host can reach.
func (p part) bytesOf() []byte { return p.backing.host[p.from:p.to] }

// fillWord makes memory hold a word, of which byte x mod 8 is at offset x.
func fillWord(memory []byte, from, word uint64) {
	var pattern [8]byte
	binary.LittleEndian.PutUint64(pattern[:], moved(word, -from))
	for done := copy(memory, pattern[:]); done < len(memory); {
		done += copy(memory[done:], memory[:done])
	}
}

// copyHost makes the targets hold what the sources hold. Where the two overlap, all is read
// before anything is written.
func copyHost(targets, sources []part) {
	if len(targets) == 1 && len(sources) == 1 {
		copy(targets[0].bytesOf(), sources[0].bytesOf())
		return
	}
	all := append([]byte(nil), readHost(sources)...)
	for _, t := range targets {
		all = all[copy(t.bytesOf(), all):]
	}
}

// readHost gives the bytes of the parts, one behind the other; those of a single part are the
// memory itself.
func readHost(parts []part) (all []byte) {
	if len(parts) == 1 {
		return parts[0].bytesOf()
	}
	for _, p := range parts {
		all = append(all, p.bytesOf()...)
	}
	return all
}

// digestHost is a number for what the parts hold.
func digestHost(parts []part) (sum uint64) {
	var word [8]byte
	for all := readHost(parts); len(all) > 0; {
		word = [8]byte{}
		all = all[copy(word[:], all):]
		sum = tagOf(sum ^ binary.LittleEndian.Uint64(word[:]))
	}
	return sum
}

// inHost reports whether all of the parts are memory that the host can reach.
func inHost(parts []part) bool {
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p part) bool { return p.backing.host == nil })
}

// bytesIn is how many bytes the parts have.
func bytesIn(parts []part) (bytes uint64) {
	for _, p := range parts {
		bytes += p.to - p.from
	}
	return bytes
}
