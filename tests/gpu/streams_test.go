package gpu

import (
	"fmt"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/spec"
)

// What an allocator must see to, seen in bytes: memory that another stream still reads
// is not allocated again, however long that stream takes. Nothing is looked up in the
// allocator. The reader is held back; the memory is freed and asked for again; whoever
// gets it writes into it at once; then the reader is let go, and what it has read shows
// whether the memory was still its own.

// hasty is a device that says of every event that it is complete, so that an allocator on
// it does not wait.
type hasty struct{ device }

func (hasty) QueryEvent(spec.EventHandle) (bool, error) { return true, nil }

// deaf is an allocator that does not hear which streams use memory.
type deaf struct{ *alloc.Allocator }

func (deaf) RecordStream(spec.Ptr, spec.Device, spec.Stream) error { return nil }

// soundAndBroken is what tests of reuse are tried on: what passes the first must fail the
// others.
var soundAndBroken = []struct {
	name   string
	on     func(d device) spec.Driver
	as     func(a *alloc.Allocator) spec.Allocator
	broken bool
}{
	{name: "sound", on: plain, as: itself},
	{name: "events not waited for", on: func(d device) spec.Driver { return hasty{d} }, as: itself, broken: true},
	{name: "uses not recorded", on: plain, as: func(a *alloc.Allocator) spec.Allocator { return deaf{a} }, broken: true},
}

func plain(d device) spec.Driver               { return d }
func itself(a *alloc.Allocator) spec.Allocator { return a }

func TestReuse(t *testing.T) {
	for _, settings := range []string{"", "expandable_segments:True"} {
		for _, test := range soundAndBroken {
			t.Run(test.name+"/"+settings, func(t *testing.T) {
				onBoth(t, func(l *lab) {
					a := l.reference(test.on(l.device), settings)
					l.verdict(reuse(l, test.as(a)), test.broken)
				})
			})
		}
	}
}

// reuse lets one stream read memory of another, slowly, and says what was wrong with what
// it has read.
func reuse(l *lab, a spec.Allocator) error {
	l.Helper()
	const size = 4 * spec.MiB
	writer, reader, witness := l.stream(0), l.stream(0), l.raw(size)

	p := l.obtain(a, 0, writer, size)
	l.must(l.Fill(0, writer, p, 1))
	l.must(l.SynchronizeStream(0, writer))
	release := l.held(0, reader)
	l.copyTo(witness.Ptr, p, reader)
	l.must(a.RecordStream(p.Ptr, 0, reader))
	l.must(a.Free(p.Ptr))

	q := l.obtain(a, 0, writer, size)
	l.must(l.Fill(0, writer, q, 2))
	l.must(l.SynchronizeStream(0, writer))
	release()
	wrong := l.has(0, reader, witness, 1)
	l.must(a.Free(q.Ptr))
	l.must(l.Free(0, witness.Ptr))
	return wrong
}

// expect holds bytes against the one value that all should have.
func expect(data []byte, value byte) error {
	for i, b := range data {
		if b != value {
			return fmt.Errorf("byte %d of %d is %d, not %d", i, len(data), b, value)
		}
	}
	return nil
}
