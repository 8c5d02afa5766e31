package pluggable_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/alloc"
	"gaugeblock/cudaimpl/pluggable"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// calls is a pair of functions with all hooks, which writes down how it is called.
type calls struct{ said []string }

func (c *calls) say(format string, args ...any) {
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

func (c *calls) functions(a *alloc.Allocator) pluggable.Functions {
	return pluggable.Functions{
		Malloc: func(bytes uint64, dev spec.Device, s spec.Stream) (spec.Ptr, error) {
			c.say("malloc %d %d %v", bytes, dev, s)
			return a.Malloc(spec.Request{Device: dev, Stream: s, Bytes: bytes})
		},
		Free: func(p spec.Ptr, bytes uint64, dev spec.Device, s spec.Stream) error {
			c.say("free %d %d %v", bytes, dev, s)
			return a.Free(p)
		},
		Init:  func(devices int) { c.say("init %d", devices) },
		Reset: func() error { c.say("reset"); return a.EmptyCache() },
		MemoryFraction: func(f float64, dev spec.Device) error {
			c.say("fraction %v %d", f, dev)
			return a.SetMemoryFraction(dev, f)
		},
		BaseAllocation: func(p spec.Ptr) (spec.Ptr, uint64, error) { c.say("base"); return a.BaseAllocation(p) },
		RecordStream:   func(p spec.Ptr, s spec.Stream) error { c.say("record %v", s); return a.RecordStream(p, 0, s) },
		BeginAllocateToPool: func(dev spec.Device, id spec.PoolID, filter func(spec.Stream) bool) error {
			c.say("begin %d %v", dev, id)
			return a.BeginAllocateToPool(dev, id, func(r spec.Request) bool { return filter(r.Stream) })
		},
		EndAllocateToPool: func(dev spec.Device, id spec.PoolID) error {
			c.say("end %d %v", dev, id)
			return a.EndAllocateToPool(dev, id)
		},
		ReleasePool: func(dev spec.Device, id spec.PoolID) error {
			c.say("release %d %v", dev, id)
			return a.ReleasePool(dev, id)
		},
	}
}

// TestComposition: the functions are called as PyTorch calls them: free hears what malloc
// was asked, hooks get their arguments, and what is no business of theirs does not reach
// them.
func TestComposition(t *testing.T) {
	d := newDevice()
	inner, err := alloc.New(d, alloc.Options{})
	must(t, err)
	c := &calls{}
	a, err := pluggable.New(c.functions(inner), d.DeviceCount())
	must(t, err)
	s, pool := d.stream(t, 0), spec.PoolID{User: 7}

	p, err := a.Malloc(spec.Request{Stream: s, Bytes: 1000})
	must(t, err)
	q, err := a.Malloc(spec.Request{Device: 1, Bytes: 2000})
	must(t, err)
	null, err := a.Malloc(spec.Request{})
	must(t, err)
	if null != 0 {
		t.Errorf("no bytes are at %v", null)
	}
	must(t, a.Free(null))
	must(t, a.RecordStream(p, 0, s))
	base, bytes, err := a.BaseAllocation(p)
	must(t, err)
	if base != p || bytes != 2*spec.MiB {
		t.Errorf("the piece around %v is %d bytes at %v", p, bytes, base)
	}
	must(t, a.Free(q))
	must(t, a.Free(p))
	must(t, a.SetMemoryFraction(1, 0.5))
	must(t, a.BeginAllocateToPool(0, pool, func(on spec.Stream) bool { return on == s }))
	r, err := a.Malloc(spec.Request{Stream: s, Bytes: 3000})
	must(t, err)
	must(t, a.EndAllocateToPool(0, pool))
	snapshot, err := inner.SnapshotPool(pool)
	must(t, err)
	if len(snapshot.Segments) != 1 || snapshot.Segments[0].Address != r {
		t.Errorf("the pool has %v, not %v", snapshot.Segments, r)
	}
	must(t, a.Free(r))
	must(t, a.ReleasePool(0, pool))
	must(t, a.EmptyCache())

	want := []string{
		"init 2", "malloc 1000 0 " + s.String(), "malloc 2000 1 default", "record " + s.String(), "base",
		"free 2000 1 default", "free 1000 0 " + s.String(), "fraction 0.5 1", "begin 0 (0, 7)",
		"malloc 3000 0 " + s.String(), "end 0 (0, 7)", "free 3000 0 " + s.String(), "release 0 (0, 7)", "reset",
	}
	if diff := cmp.Diff(want, c.said); diff != "" {
		t.Errorf("the functions were called (- want, + got):\n%s", diff)
	}
}

// TestCompositionRefuses: misuse is answered with a typed error and reaches no function; a
// failed free leaves the memory out; a null pointer is no memory; what a pair cannot do is
// not supported.
func TestCompositionRefuses(t *testing.T) {
	refusal := errors.New("not now")
	c := &calls{}
	a, err := pluggable.New(pluggable.Functions{
		Malloc: func(bytes uint64, _ spec.Device, _ spec.Stream) (spec.Ptr, error) {
			if bytes > 100 {
				return 0, nil
			}
			return 0x1000, nil
		},
		Free: func(spec.Ptr, uint64, spec.Device, spec.Stream) error { c.say("free"); return refusal },
	}, 1)
	must(t, err)
	p, err := a.Malloc(spec.Request{Bytes: 100})
	must(t, err)
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"free twice", errors.Join(a.Free(p), a.Free(p)), trace.ErrorOther},
		{"free of nothing", a.Free(p + 1), trace.ErrorInvalidPointer},
		{"use of nothing", a.RecordStream(p+1, 0, 5), trace.ErrorInvalidPointer},
		{"use on no device", a.RecordStream(p, 9, 5), trace.ErrorInvalidArgument},
		{"no device", second(a.Malloc(spec.Request{Device: 1, Bytes: 1})), trace.ErrorInvalidArgument},
		{"null pointer", second(a.Malloc(spec.Request{Bytes: 101})), trace.ErrorOOM},
		{"figures", second(a.Stats(0)), trace.ErrorNotSupported},
		{"picture", second(a.Snapshot()), trace.ErrorNotSupported},
		{"half a pair", second(pluggable.New(pluggable.Functions{Malloc: func(uint64, spec.Device, spec.Stream) (spec.Ptr, error) { return 0, nil }}, 1)), trace.ErrorInvalidArgument},
		{"without hooks", errors.Join(a.EmptyCache(), a.SetMemoryFraction(0, 0.5), a.RecordStream(p, 0, 5), a.ReleasePool(0, spec.PoolID{})), ""},
	} {
		if got := trace.ErrorName(test.err); got != test.want {
			t.Errorf("%s: %q (%v), want %q", test.name, got, test.err, test.want)
		}
	}
	if diff := cmp.Diff([]string{"free", "free"}, c.said); diff != "" {
		t.Errorf("the functions were called (- want, + got):\n%s", diff)
	}
}

func second[T any](_ T, err error) error { return err }

// TestCompositionRefusesDevices: a device that is not there does not reach a hook, and what has no hook does nothing.
func TestCompositionRefusesDevices(t *testing.T) {
	real, err := alloc.New(newDevice(), alloc.Options{})
	must(t, err)
	pair := pluggable.Functions{
		Malloc: func(uint64, spec.Device, spec.Stream) (spec.Ptr, error) { return 0, nil },
		Free:   func(spec.Ptr, uint64, spec.Device, spec.Stream) error { return nil },
	}
	c := &calls{}
	for name, functions := range map[string]pluggable.Functions{"with hooks": c.functions(real), "without": pair} {
		a, err := pluggable.New(functions, 2)
		must(t, err)
		c.said = nil
		id, none := spec.PoolID{User: 1}, func(spec.Stream) bool { return false }
		for dev, want := range map[spec.Device]string{2: trace.ErrorInvalidArgument, 1: ""} {
			for what, err := range map[string]error{
				"fraction": a.SetMemoryFraction(dev, 0.5), "begin": a.BeginAllocateToPool(dev, id, none),
				"end": a.EndAllocateToPool(dev, id), "release": a.ReleasePool(dev, id),
			} {
				if got := trace.ErrorName(err); got != want {
					t.Errorf("%s, %s of device %d: %q (%v), want %q", name, what, dev, got, err, want)
				}
			}
			if dev == 2 && c.said != nil {
				t.Errorf("%s: device 2 has reached %q", name, c.said)
			}
			c.said = nil
		}
	}
}
