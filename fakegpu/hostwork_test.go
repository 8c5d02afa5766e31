package fakegpu

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/spec"
)

// Copies from and to the host, and copies between, do to memory what they would do to an
// array of bytes.
func TestHostCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 64
		g := New(Config{})
		p, err := g.Malloc(0, size)
		if err != nil {
			t.Fatal(err)
		}
		plain := bytes.Repeat([]byte{0xa5}, size)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			from := rapid.IntRange(0, size-1).Draw(t, "from")
			n := rapid.IntRange(1, size-from).Draw(t, "bytes")
			at := p + spec.Ptr(from)
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				data := rapid.SliceOfN(rapid.ByteRange(0, 2), n, n).Draw(t, "data")
				err = g.CopyIn(0, 0, at, data)
				copy(plain[from:], data)
			case 1:
				to := rapid.IntRange(0, size-n).Draw(t, "to")
				err = g.Copy(spec.Copy{Src: at, Dst: p + spec.Ptr(to), Bytes: uint64(n)})
				copy(plain[to:], bytes.Clone(plain[from:from+n]))
			case 2:
				err = g.CopyOut(0, 0, spec.Range{Ptr: at, Bytes: uint64(n)}, func(data []byte) {
					if !bytes.Equal(data, plain[from:from+n]) {
						t.Fatalf("%d bytes from %d are %x, not %x", n, from, data, plain[from:from+n])
					}
				})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		all, err := g.ReadBack(0, 0, spec.Range{Ptr: p, Bytes: size})
		if err != nil || !bytes.Equal(all, plain) {
			t.Fatalf("memory holds %x (%v), not %x", all, err, plain)
		}
	})
}

// What is copied in is what was there at the time of the call; functions of the host run
// when the stream gets to them.
func TestHostWorkIsInOrder(t *testing.T) {
	g := New(Config{})
	s, err := g.CreateStream(0)
	must(t, err)
	p, err := g.Malloc(0, 512)
	must(t, err)
	must(t, g.Busy(0, s))
	data := []byte("before")
	must(t, g.CopyIn(0, s, p, data))
	copy(data, "behind")
	var log []string
	must(t, g.CopyOut(0, s, spec.Range{Ptr: p, Bytes: 6}, func(d []byte) { log = append(log, string(d)) }))
	must(t, g.HostFunction(0, s, func() { log = append(log, "function") }))
	if len(log) > 0 {
		t.Errorf("%q happened although the stream is busy", log)
	}
	must(t, g.Drain(0, s))
	if len(log) != 2 || log[0] != "before" || log[1] != "function" {
		t.Errorf("what happened is %q", log)
	}
}

// TestLaunchOnHost: a kernel that the host computes is computed in its turn, unless it names memory
// that it has no right to touch; that is a violation then.
func TestLaunchOnHost(t *testing.T) {
	for _, test := range []struct {
		name          string
		reads, writes spec.Ptr // offsets in the memory, of 8 bytes
		violations    int
	}{
		{"within its memory", 0, 504, 0},
		{"reads beyond it", 508, 0, 1},
		{"writes beyond it", 0, 508, 1},
		{"reads and writes beyond it", 512, 505, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := New(Config{})
			s := newStream(t, g)
			p, err := g.Malloc(0, 512)
			must(t, err)
			must(t, g.Busy(0, s))
			computed := 0
			must(t, g.LaunchOnHost(spec.Launch{
				Stream: s, Name: "k",
				Reads:  []spec.Range{{Ptr: p + test.reads, Bytes: 8}},
				Writes: []spec.Range{{Ptr: p + test.writes, Bytes: 8}},
			}, func() { computed++ }))
			if computed != 0 {
				t.Error("it is computed although the stream is busy")
			}
			must(t, g.Drain(0, s))
			if (computed == 1) != (test.violations == 0) || computed > 1 {
				t.Errorf("it is computed %d times", computed)
			}
			if got := len(g.Violations()); got != test.violations {
				t.Errorf("%d violations, want %d: %v", got, test.violations, g.Violations())
			}
		})
	}
}

// Races within one lifetime are hazards if they are asked for.
func TestRaces(t *testing.T) {
	for _, c := range []struct {
		config Config
		event  bool
		reads  bool // both only read
		want   int
	}{
		{Config{Races: true}, false, false, 1},
		{Config{Races: true}, true, false, 0},
		{Config{Races: true}, false, true, 0},
		{Config{Hazards: true}, false, false, 0},
	} {
		g := New(c.config)
		a, err := g.CreateStream(0)
		must(t, err)
		b, err := g.CreateStream(0)
		must(t, err)
		p, err := g.Malloc(0, 512)
		must(t, err)
		r := []spec.Range{{Ptr: p, Bytes: 512}}
		first := spec.Launch{Stream: a, Writes: r}
		if c.reads {
			first = spec.Launch{Stream: a, Reads: r}
		}
		must(t, g.Launch(first))
		if c.event {
			e, err := g.CreateEvent(0)
			must(t, err)
			must(t, g.RecordEvent(e, 0, a))
			must(t, g.WaitEvent(0, b, e))
		}
		must(t, g.Launch(spec.Launch{Stream: b, Reads: r}))
		if found := g.Hazards(); len(found) != c.want {
			t.Errorf("%+v: %v, want %d", c, found, c.want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
