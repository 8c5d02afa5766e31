package fakegpu

import (
	"reflect"
	"testing"
	"time"

	"gaugeblock/spec"
)

// What only the tools and the libraries of fakegpu/cuda ask, each with its errors.

// TestBlockingStreams: a stream that is made a blocking one waits for the default stream, and it for the stream.
func TestBlockingStreams(t *testing.T) {
	g := New(Config{Hazards: true})
	free, blocking := newStream(t, g), newStream(t, g)
	must(t, g.SetBlocking(0, blocking))
	if g.IsBlocking(free) || !g.IsBlocking(blocking) || g.IsBlocking(0) {
		t.Errorf("blocking: %v, %v, the default stream %v", g.IsBlocking(free), g.IsBlocking(blocking), g.IsBlocking(0))
	}
	refused(t, "the default stream", g.SetBlocking(0, 0), "does not wait for itself")
	refused(t, "no stream", g.SetBlocking(0, 12345), "there is no stream")
	follows := func(on spec.Stream, p Point) bool {
		must(t, g.Launch(spec.Launch{Stream: on}))
		return g.Follows(0, on, p)
	}
	for _, s := range []spec.Stream{free, blocking} {
		must(t, g.Launch(spec.Launch{Stream: s}))
		point, err := g.PointIn(0, s)
		must(t, err)
		must(t, g.Launch(spec.Launch{Stream: 0}))
		if got := g.Follows(0, 0, point); got != (s == blocking) {
			t.Errorf("the default stream follows stream %v: %v", s, got)
		}
		ofDefault, err := g.PointIn(0, 0)
		must(t, err)
		must(t, g.Launch(spec.Launch{Stream: 0}))
		if got := follows(s, ofDefault); got != (s == blocking) {
			t.Errorf("stream %v follows the default stream: %v", s, got)
		}
		if !follows(s, point) || g.Follows(0, 12345, point) || g.Follows(0, s, Point{}) {
			t.Errorf("stream %v does not follow itself, or follows nothing", s)
		}
	}
	point, err := g.PointIn(0, blocking)
	must(t, err)
	must(t, g.DestroyStream(0, blocking))
	if g.Follows(0, 0, point) {
		t.Error("of a destroyed stream it is known what follows")
	}
	if _, err := g.PointIn(0, 12345); err == nil {
		t.Error("no stream has a point")
	}
	all := New(Config{})
	before := newStream(t, all)
	all.SetAllBlocking()
	if all.IsBlocking(before) || !all.IsBlocking(newStream(t, all)) {
		t.Error("not those that are added afterwards are blocking")
	}
}

// TestQueryDefaultStream: it is complete when the blocking streams are, too, and nobody asks during a capture.
func TestQueryDefaultStream(t *testing.T) {
	for _, of := range []struct {
		name            string
		stream          func(*testing.T, *GPU) spec.Stream
		complete, asked bool
	}{
		{"nothing", func(*testing.T, *GPU) spec.Stream { return 0 }, true, true},
		{"the default stream", func(t *testing.T, g *GPU) spec.Stream { must(t, g.Busy(0, 0)); return 0 }, false, true},
		{"another stream", func(t *testing.T, g *GPU) spec.Stream {
			s := newStream(t, g)
			must(t, g.Busy(0, s))
			return s
		}, true, true},
		{"a blocking stream", func(t *testing.T, g *GPU) spec.Stream {
			s := newStream(t, g)
			must(t, g.SetBlocking(0, s))
			must(t, g.Busy(0, s))
			return s
		}, false, true},
		{"a capture", func(t *testing.T, g *GPU) spec.Stream {
			s := newStream(t, g)
			must(t, g.BeginCapture(0, s, spec.CaptureRelaxed))
			return s
		}, false, false},
	} {
		g := New(Config{Hazards: true})
		of.stream(t, g)
		complete, asked, err := g.QueryDefaultStream(0)
		if complete != of.complete || asked != of.asked || err != nil {
			t.Errorf("%s: complete %v, asked %v, %v", of.name, complete, asked, err)
		}
	}
	g := New(Config{Hazards: true})
	must(t, g.Launch(spec.Launch{}))
	point, err := g.PointIn(0, 0)
	must(t, err)
	other := newStream(t, g)
	if g.Follows(0, other, point) {
		t.Error("the host has seen what it did not ask for")
	}
	if _, _, err := g.QueryDefaultStream(0); err != nil || !g.Follows(0, other, point) {
		t.Errorf("the host has not seen that the stream is complete: %v", err)
	}
	if _, asked, err := g.QueryDefaultStream(7); err == nil || !asked {
		t.Errorf("of device 7: asked %v, %v", asked, err)
	}
}

// TestErrorsOfElapsedTime: in the order that was measured.
func TestErrorsOfElapsedTime(t *testing.T) {
	g := New(Config{Devices: make([]DeviceConfig, 2)})
	timed := func(dev spec.Device, on spec.Stream, record bool) spec.EventHandle {
		e, err := g.CreateTimedEvent(dev)
		must(t, err)
		if record {
			must(t, g.RecordEvent(e, dev, on))
		}
		return e
	}
	captured, busy := newStream(t, g), newStream(t, g)
	done, fresh, elsewhere := timed(0, 0, true), timed(0, 0, false), timed(1, 0, true)
	untimed, err := g.CreateEvent(0)
	must(t, err)
	must(t, g.RecordEvent(untimed, 0, 0))
	must(t, g.Busy(0, busy))
	waiting := timed(0, busy, true)
	must(t, g.BeginCapture(0, captured, spec.CaptureRelaxed))
	inCapture := timed(0, captured, true)
	check := func(name string, from, to spec.EventHandle, words string) {
		t.Helper()
		_, err := g.ElapsedTime(from, to)
		refused(t, name, err, words)
	}
	check("two devices", done, elsewhere, "devices 0 and 1")
	check("never recorded", fresh, done, "no time, or was never recorded")
	check("without time", done, untimed, "no time, or was never recorded")
	check("not complete", done, waiting, "not complete")
	check("in a capture", inCapture, waiting, "in a capture")
	check("the first counts", fresh, inCapture, "never recorded")
	_, err = g.EndCapture(0, captured)
	must(t, err)
	check("a capture that is over", inCapture, done, "yields nothing more")
	if took, err := g.ElapsedTime(done, done); took != 0 || err != nil {
		t.Errorf("%v, %v", took, err)
	}
}

// TestHostAreas: memory of the host is touched by all devices, is no device's, and ends when all are done.
func TestHostAreas(t *testing.T) {
	g := New(Config{Devices: make([]DeviceConfig, 2), Hazards: true, Schedule: Lazy()})
	r := spec.Range{Ptr: 0x1000, Bytes: 64}
	bytes := make([]byte, 64)
	must(t, g.AddHostArea(r, bytes))
	refused(t, "twice", g.AddHostArea(spec.Range{Ptr: 0x1020, Bytes: 64}, nil), "64 bytes at 0x1020 are there already")
	for _, c := range []struct {
		ptr   spec.Ptr
		bytes uint64
		in    bool
	}{{0x1000, 64, true}, {0x1010, 48, true}, {0x1010, 49, false}, {0x0ff0, 16, false}, {0x1040, 1, false}} {
		if got := g.HostArea(spec.Range{Ptr: c.ptr, Bytes: c.bytes}); got != c.in {
			t.Errorf("%d bytes at %v: %v", c.bytes, c.ptr, got)
		}
	}
	must(t, g.Fill(1, 0, spec.Range{Ptr: 0x1008, Bytes: 8}, 1))
	if bytes[8] != 0 {
		t.Fatal("work is done before anybody waits for it")
	}
	if found, err := g.RemoveHostArea(0x1008); found || err != nil {
		t.Errorf("none begins there: %v, %v", found, err)
	}
	if found, err := g.RemoveHostArea(0x1000); !found || err != nil || bytes[8] != 1 || bytes[7] != 0 || bytes[16] != 0 {
		t.Errorf("removed: %v, %v, %v", found, err, bytes[:17])
	}
	if g.HostArea(r) {
		t.Error("it is still there")
	}
	must(t, g.AddHostArea(r, nil))
	if n := len(g.Hazards()); n > 0 {
		t.Errorf("%d hazards with memory that is gone", n)
	}
	busy := New(Config{Devices: make([]DeviceConfig, 2)})
	must(t, busy.AddHostArea(r, nil))
	must(t, busy.Busy(1, 0))
	if found, err := busy.RemoveHostArea(r.Ptr); !found || err == nil || !busy.HostArea(r) {
		t.Errorf("a device is busy: %v, %v", found, err)
	}
}

// TestHostAccess: what a thread does itself is in order with what it has waited for.
func TestHostAccess(t *testing.T) {
	for _, c := range []struct {
		name                 string
		writes, waits, other bool
		hazards              int
	}{
		{"reads what is being written", false, false, false, 1}, {"writes it", true, false, false, 1},
		{"waits", true, true, false, 0}, {"another thread has waited", true, true, true, 1},
	} {
		g := New(Config{Races: true, Hazards: true})
		p, err := g.Malloc(0, 64)
		must(t, err)
		r := []spec.Range{{Ptr: p, Bytes: 64}}
		g.BeginLifetime(Lifetime{Range: r[0]})
		g.ExpectStrangers()
		must(t, g.Launch(spec.Launch{Name: "kernel", Writes: r}))
		if c.waits {
			must(t, g.SynchronizeStream(0, 0))
		}
		if c.other {
			g.SetThread(3)
		}
		if got := g.Thread(); (got == 3) != c.other {
			t.Errorf("%s: thread %d", c.name, got)
		}
		if c.writes {
			g.HostAccess("cpu", nil, r)
		} else {
			g.HostAccess("cpu", r, nil)
		}
		if got := g.HazardCount(); got != c.hazards {
			t.Errorf("%s: %d hazards: %v", c.name, got, g.Hazards())
		}
	}
}

// TestLoggedMemory: memory of a log that is mapped piece by piece is one, and goes piece by piece.
func TestLoggedMemory(t *testing.T) {
	g := New(Config{Devices: make([]DeviceConfig, 2)})
	at := func(from, to spec.Ptr) spec.Range { return spec.Range{Ptr: from, Bytes: uint64(to - from)} }
	launches := func(r spec.Range, fits bool) {
		t.Helper()
		before := len(g.Violations())
		must(t, g.LaunchOn(logged(t, g, 0), spec.Launch{Device: 1, Stream: 99, Writes: []spec.Range{r}}))
		if got := len(g.Violations()) == before; got != fits {
			t.Errorf("%v is there: %v", r, got)
		}
	}
	must(t, g.AddMapped(0, at(0x2000, 0x3000)))
	must(t, g.AddMapped(0, at(0x4000, 0x5000)))
	launches(at(0x2800, 0x4800), false)
	must(t, g.AddMapped(0, at(0x3000, 0x4000)))
	launches(at(0x2000, 0x5000), true)
	launches(at(0x2000, 0x5001), false)
	must(t, g.AddMapped(1, at(0x5000, 0x6000)))
	launches(at(0x4800, 0x5800), false)
	for _, r := range []spec.Range{{Ptr: 0x7000}, at(0x2000, 0x2001), {Ptr: 1 << 63, Bytes: 1 << 63}, {Ptr: ^spec.Ptr(0), Bytes: 2}} {
		if r.End() < r.Ptr || r.Bytes == 0 || r.Ptr == 0x2000 {
			refused(t, "mapped", g.AddMapped(0, r), "are not vacant addresses")
		}
		refused(t, "removed", g.RemoveMapped(spec.Range{Ptr: r.Ptr + 0x9000, Bytes: r.Bytes}), "are not all mapped")
	}
	refused(t, "device 2", g.AddMapped(2, at(0x8000, 0x9000)), "device 2")
	refused(t, "too much", g.RemoveMapped(at(0x2000, 0x5001)), "are not all mapped")
	refused(t, "nothing", g.RemoveMapped(at(0x2000, 0x2000)), "are not all mapped")
	must(t, g.RemoveMapped(at(0x3000, 0x4000)))
	launches(at(0x2000, 0x3000), true)
	launches(at(0x4000, 0x5000), true)
	launches(at(0x2fff, 0x3001), false)
	launches(at(0x3fff, 0x4001), false)
	must(t, g.RemoveMapped(at(0x2000, 0x3000)))
	launches(at(0x2000, 0x2001), false)
	p, err := g.Malloc(0, 64)
	must(t, err)
	refused(t, "memory of Malloc", g.RemoveMapped(spec.Range{Ptr: p, Bytes: 64}), "are not all mapped")
}

// TestLookup: what calls without a device ask.
func TestLookup(t *testing.T) {
	g := New(Config{Devices: make([]DeviceConfig, 2)})
	s, err := g.CreateStream(1)
	must(t, err)
	if dev, found := g.StreamDevice(s); dev != 1 || !found {
		t.Errorf("device %d, %v", dev, found)
	}
	if _, found := g.StreamDevice(0); found {
		t.Error("the default stream has a device")
	}
	first, _ := g.StreamID(1, s)
	must(t, g.DestroyStream(1, s))
	must(t, g.CreateStreamAs(0, s))
	if again, found := g.StreamID(0, s); again == first || !found {
		t.Errorf("the numbers are %d and %d, %v", first, again, found)
	}
	for _, c := range []struct {
		dev    spec.Device
		handle spec.Stream
		found  bool
	}{{0, 0, true}, {1, 0, true}, {1, 77, false}} {
		if id, found := g.StreamID(c.dev, c.handle); id != uint64(c.dev) || found != c.found {
			t.Errorf("device %d, stream %v: %d, %v", c.dev, c.handle, id, found)
		}
	}
	refused(t, "a stream that is there", g.CreateStreamAs(0, s), "there is a stream")
	refused(t, "the default stream", g.CreateStreamAs(0, 0), "there is a stream")
	refused(t, "device 2", g.CreateStreamAs(2, 0x55), "device 2")
	p, err := g.Malloc(1, 64)
	must(t, err)
	base, err := g.ReserveForPool(0, 2*spec.MiB)
	must(t, err)
	for _, c := range []struct {
		at    spec.Ptr
		want  spec.Range
		dev   spec.Device
		piece bool
	}{
		{p, spec.Range{Ptr: p, Bytes: 64}, 1, true}, {p + 63, spec.Range{Ptr: p, Bytes: 64}, 1, false},
		{base + 5, spec.Range{Ptr: base, Bytes: 2 * spec.MiB}, 0, false}, {base, spec.Range{Ptr: base, Bytes: 2 * spec.MiB}, 0, false},
		{8, spec.Range{}, 0, false},
	} {
		r, dev, found := g.MemoryAround(c.at)
		if r != c.want || dev != c.dev || found != (c.want.Bytes > 0) || g.IsPiece(c.at) != c.piece {
			t.Errorf("at %v: %v of device %d, %v; a piece: %v", c.at, r, dev, found, g.IsPiece(c.at))
		}
	}
	if got := [2]uint64{g.InUse(0), g.InUse(1)}; got != [2]uint64{0, 64} {
		t.Errorf("in use: %v", got)
	}
}

// TestPeers: of devices that are not there, none has access.
func TestPeers(t *testing.T) {
	g := New(Config{Devices: make([]DeviceConfig, 2)})
	must(t, g.EnablePeerAccess(0, 1))
	for _, pair := range [][2]spec.Device{{2, 0}, {0, 2}, {-1, 0}, {0, -1}} {
		if err := g.EnablePeerAccess(pair[0], pair[1]); err == nil {
			t.Errorf("%v: no error", pair)
		}
	}
	refused(t, "itself", g.EnablePeerAccess(1, 1), "")
	refused(t, "no access", New(Config{Devices: make([]DeviceConfig, 2), NoPeerAccess: true}).EnablePeerAccess(0, 1), "")
}

// TestReserveForPool: whoever listens is told, also of what fails.
func TestReserveForPool(t *testing.T) {
	g := New(Config{})
	var told []MemoryCall
	g.OnMemoryCall(func(c MemoryCall) { told = append(told, c) })
	at, err := g.ReserveForPool(0, 4*spec.MiB)
	must(t, err)
	_, err = g.ReserveForPool(0, 5)
	if err == nil {
		t.Error("5 bytes are reserved")
	}
	var want []MemoryCall
	for _, c := range []MemoryCall{{Ptr: at, Bytes: 4 * spec.MiB}, {Bytes: 5, Err: err}} {
		for _, c.Call = range []string{"ReserveAddress", "ReserveForPool"} {
			want = append(want, c)
		}
	}
	if !reflect.DeepEqual(told, want) {
		t.Errorf("told %+v, want %+v", told, want)
	}
}

// TestFabric: a device says whether its pages have fabric handles, and refuses those that it does not make.
func TestFabric(t *testing.T) {
	g := New(Config{Devices: []DeviceConfig{{}, {Fabric: true}}})
	for dev, want := range []bool{false, true} {
		has, err := g.FabricAccess(spec.Device(dev))
		if has != want || err != nil {
			t.Errorf("device %d: %v, %v", dev, has, err)
		}
		if _, err := g.CreatePage(spec.Device(dev), 2*spec.MiB, spec.ShareFabric); (err == nil) != want {
			t.Errorf("device %d: a page with a fabric handle: %v", dev, err)
		}
	}
	if _, err := g.FabricAccess(2); err == nil {
		t.Error("device 2 says something")
	}
	_, err := g.CreatePage(0, 2*spec.MiB, spec.ShareFabric+7)
	refused(t, "a kind that is not there", err, "there is no share type")
}

// TestWindow: the real driver's addresses in a part of the address space.
func TestWindow(t *testing.T) {
	window := spec.Range{Ptr: 1 << 40, Bytes: 1 << 38}
	r := RealLikeWithin(window)
	if p := r.Place(2 * spec.MiB); p != window.End()-spec.Ptr(chunkBytes) {
		t.Errorf("the first chunk is at %v", p)
	}
	if p := r.PlaceRange(2 * spec.MiB); p != window.Ptr {
		t.Errorf("the first range is at %v", p)
	}
	r.Vacate(window.Ptr+spec.Ptr(5*spec.GiB), 2*spec.MiB) // nothing is there
	if p := r.Place(2 * spec.MiB); p != window.End()-spec.Ptr(chunkBytes)+spec.Ptr(2*spec.MiB) {
		t.Errorf("the second piece is at %v", p)
	}
	g := New(Config{Devices: make([]DeviceConfig, 2)})
	for dev := range spec.Device(2) {
		g.UseScript(dev, NewRealLikeScript())
		p, err := g.Malloc(dev, 2*spec.MiB)
		if want := spec.Ptr(fallbackWindow + (uint64(dev)+1)*windowBytes - chunkBytes); p != want || err != nil {
			t.Errorf("device %d: at %v, %v, want %v", dev, p, err, want)
		}
	}
}

// TestEndYielded: a life that another one has replaced does not end again.
func TestEndYielded(t *testing.T) {
	g := New(Config{})
	g.EndYielded(8, 1)
	p, err := g.Malloc(0, 512)
	must(t, err)
	l := Lifetime{Range: spec.Range{Ptr: p, Bytes: 512}}
	first := g.BeginLifetime(l)
	uses := func() int {
		must(t, g.Launch(spec.Launch{Writes: []spec.Range{l.Range}}))
		return g.HazardCount()
	}
	g.EndYielded(p, first+1)
	if n := uses(); n != 0 {
		t.Errorf("the life of another number has ended: %v", g.Hazards())
	}
	g.EndYielded(p, first)
	g.EndYielded(p, first)
	if n := uses(); n != 1 {
		t.Errorf("%d hazards of memory that nobody has", n)
	}
}

// TestTimesOfWork: a clock goes by what work moves, and by calls of the driver.
func TestTimesOfWork(t *testing.T) {
	w := work{reads: []spec.Range{{Bytes: 500_000}, {Bytes: 500_000}}, writes: []spec.Range{{Bytes: 1_000_999}}}
	if got := w.duration(); got != time.Microsecond+2*time.Microsecond {
		t.Errorf("it takes %v", got)
	}
}
