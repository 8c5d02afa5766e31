package gpu

import (
	"errors"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
)

// TestExhaustion: the device is filled up first, so that it is the driver that refuses,
// and not a limit. The allocator allocates what is left, down to less than a page; then
// the request fails with figures that are true, nothing is lost by it, and what is freed
// can be had again in other sizes.
func TestExhaustion(t *testing.T) {
	for _, settings := range []string{"", "expandable_segments:True"} {
		t.Run(settings, func(t *testing.T) { onBoth(t, func(l *lab) { exhaust(l, settings) }) })
	}
}

func exhaust(l *lab, settings string) {
	const leave, piece = 400 * spec.MiB, 30 * spec.MiB
	filler := fillUp(l, leave)
	a, s := l.reference(l.device, settings), l.stream(0)

	out := untilRefused(l, a, s, piece)
	if got := uint64(len(out)) * piece; got < leave/2 {
		l.Errorf("%d bytes could be had of about %d", got, uint64(leave))
	}
	sound(l, a)
	for i := 0; i < len(out); i += 2 { // every other one: holes that are too small
		l.must(a.Free(out[i].Ptr))
	}
	// Nothing but returning cached memory to the driver makes room for this one.
	large := l.obtain(a, 0, s, 4*piece)
	l.must(l.Fill(0, s, large, 5))
	l.must(l.has(0, s, spec.Range{Ptr: large.End() - spec.Ptr(spec.MiB), Bytes: spec.MiB}, 5))
	sound(l, a)

	l.must(a.Free(large.Ptr))
	for i := 1; i < len(out); i += 2 {
		l.must(l.has(0, s, spec.Range{Ptr: out[i].Ptr, Bytes: spec.MiB}, byte(i)))
		l.must(a.Free(out[i].Ptr))
	}
	l.must(a.EmptyCache())
	for _, p := range filler {
		l.must(l.Free(0, p))
	}
}

// fillUp takes the device's memory but for a number of bytes.
func fillUp(l *lab, leave uint64) (filler []spec.Ptr) {
	l.Helper()
	for size := uint64(4 * spec.GiB); size >= 2*spec.MiB; size /= 2 {
		for {
			free, _, err := l.MemInfo(0)
			l.must(err)
			if free < leave+size {
				break
			}
			p, err := l.Malloc(0, size)
			if errors.Is(err, spec.ErrDriverOutOfMemory) {
				break
			}
			l.must(err)
			filler = append(filler, p)
		}
	}
	return filler
}

// untilRefused obtains memory until there is none, and looks at the refusal.
func untilRefused(l *lab, a *alloc.Allocator, s spec.Stream, piece uint64) (out []spec.Range) {
	l.Helper()
	for {
		p, err := a.Malloc(spec.Request{Stream: s, Bytes: piece})
		if err == nil {
			r := spec.Range{Ptr: p, Bytes: piece}
			l.must(l.Fill(0, s, r, byte(len(out))))
			out = append(out, r)
			continue
		}
		var oom *spec.OutOfMemoryError
		if !errors.As(err, &oom) {
			l.Fatalf("the refusal is %v", err)
		}
		free, total, err := l.MemInfo(0)
		l.must(err)
		if oom.Requested != piece || oom.DeviceFree != free || oom.DeviceTotal != total || oom.Allocated != uint64(len(out))*piece {
			l.Errorf("%#v: %d of %d bytes are free, %d are allocated", oom, free, total, uint64(len(out))*piece)
		}
		return out
	}
}

// sound looks at everything that can be seen of an allocator.
func sound(l *lab, a spec.Allocator) {
	l.Helper()
	o, err := invariant.Observe(a, spec.DefaultGeometry(), 1)
	l.must(err)
	violations, err := invariant.CheckAll(o)
	l.must(err)
	for _, v := range violations {
		l.Error(v)
	}
}
