package pluggable_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/cudaimpl/pluggable"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// program is a program that uses a library: three streams, two devices, pools.
func program(t *testing.T, d device, l *pluggable.Library, shares bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	streams := []spec.Stream{0, d.stream(t, 0), d.stream(t, 0)}
	pool := spec.PoolID{User: 3}
	var live []spec.Ptr
	for i := range 600 {
		switch choice := r.IntN(100); {
		case i == 200: // of one stream only
			l.BeginAllocateToPool(0, pool, func(s spec.Stream) bool { return s == streams[1] })
		case i == 300:
			l.EndAllocateToPool(0, pool)
		case i == 400:
			l.MemoryFraction(0.25, 0)
		case i == 500:
			l.ReleasePool(0, pool)
			l.Reset()
		case choice < 55 || len(live) == 0:
			if p := l.Malloc(1+r.Uint64N(30*spec.MiB)>>r.IntN(12), 0, streams[r.IntN(3)]); p != 0 {
				live = append(live, p)
			}
		case choice < 60 && shares:
			l.RecordStream(live[r.IntN(len(live))], streams[r.IntN(3)])
		default:
			k := r.IntN(len(live))
			l.Free(live[k])
			live[k] = live[len(live)-1]
			live = live[:len(live)-1]
		}
	}
	for _, p := range live {
		l.Free(p)
	}
	l.Free(0)
	l.Free(0xbad) // no memory: an error, and no operation of a trace
	if err := l.LastError(); err == nil || trace.ErrorName(err) != trace.ErrorInvalidPointer {
		t.Errorf("the last error is %v", err)
	}
}

// TestLog: the log of a program is a trace that the reference replays exactly; once a use
// on another stream was recorded, it only says what was asked.
func TestLog(t *testing.T) {
	for _, settings := range []string{"", "expandable_segments:True", "max_split_size_mb:20"} {
		for name, shares := range map[string]bool{"exact": false, "shares": true} {
			t.Run(name+"/"+settings, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "log.jsonl")
				d := newDevice()
				l, err := pluggable.NewLibrary(d, pluggable.Environment{Settings: settings, Trace: path})
				must(t, err)
				program(t, d, l, shares)
				must(t, l.Close())
				result, err := replay.File(path, replay.Options{New: reference.New})
				must(t, err)
				if !result.Exact || result.Operations < 600 {
					t.Errorf("%v", &result)
				}
				if most := result.Compared == result.Operations; most == shares {
					t.Errorf("%d of %d operations were compared", result.Compared, result.Operations)
				}
				if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
					t.Errorf("left beside the trace: %q", left)
				}
			})
		}
	}
}

// TestLogTellsRanges: the log has the address range that was reserved in a request that failed, of
// which no trace entry tells.
func TestLogTellsRanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	d := newDevice()
	l, err := pluggable.NewLibrary(d, pluggable.Environment{Settings: "expandable_segments:True", Trace: path})
	must(t, err)
	d.SetFreeMemory(0, 0)
	if p := l.Malloc(20*spec.MiB, 0, 0); p != 0 {
		t.Fatalf("a full device gave %v", p)
	}
	d.SetFreeMemory(0, spec.GiB)
	p := l.Malloc(20*spec.MiB, 0, 0)
	must(t, l.Close())
	_, ops, _, err := trace.ReadFile(path)
	must(t, err)
	if len(ops) != 2 {
		t.Fatalf("%d operations", len(ops))
	}
	failed, later := ops[0].Expect, ops[1].Expect
	if failed.Error != trace.ErrorOOM || len(failed.AddressRanges) != 1 || failed.AddressRanges[0].Ptr != p || later.AddressRanges != nil {
		t.Errorf("the log has %+v, then %+v; the memory is at %v", failed, later, p)
	}
}

// TestEveryKind: the log has exactly those kinds of operations that are described as
// pluggable.
func TestEveryKind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	d := newDevice()
	l, err := pluggable.NewLibrary(d, pluggable.Environment{Trace: path})
	must(t, err)
	program(t, d, l, true)
	l.ResetPeakStats(0)
	l.EnablePeerAccess(1, 0)
	must(t, l.Close())
	_, ops, _, err := trace.ReadFile(path)
	must(t, err)
	recorded := map[trace.OpKind]bool{}
	for i := range ops {
		recorded[ops[i].Kind] = true
	}
	for _, kind := range trace.OpKinds() {
		if recorded[kind] != kind.Pluggable() {
			t.Errorf("%s: in the log of cudaimpl/pluggable is %v, pluggable in spec/trace is %v", kind, recorded[kind], kind.Pluggable())
		}
	}
}

// TestLibrary: statistics and pictures in JSON, by PyTorch's names.
func TestLibrary(t *testing.T) {
	l, err := pluggable.NewLibrary(newDevice(), pluggable.Environment{})
	must(t, err)
	p := l.Malloc(1000, 0, 0)
	if base, bytes := l.BaseAllocation(p); base != p || bytes != 2*spec.MiB {
		t.Errorf("the piece around %v is %d bytes at %v", p, bytes, base)
	}
	var stats map[string]int64
	text, err := l.Stats(0)
	must(t, err)
	must(t, json.Unmarshal(text, &stats))
	if stats["allocated_bytes.all.current"] != 1024 || stats["reserved_bytes.all.peak"] != int64(2*spec.MiB) {
		t.Errorf("statistics: %s", text)
	}
	text, err = l.Snapshot()
	must(t, err)
	for _, part := range []string{`"total_size":2097152`, `"segment_type":"small"`, `{"address":`, `"requested_size":1000,"state":"active_allocated"`, `"state":"inactive"`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the picture has no %s: %s", part, text)
		}
	}
	if l.LastError() != nil {
		t.Error(l.LastError())
	}
	if p := l.Malloc(1<<40, 0, 0); p != 0 || trace.ErrorName(l.LastError()) != trace.ErrorOOM {
		t.Errorf("a TiB is at %v (%v)", p, l.LastError())
	}
	if _, err := pluggable.NewLibrary(newDevice(), pluggable.Environment{Settings: "no_such:1"}); err == nil {
		t.Error("settings that make no sense were taken")
	}
	if _, err := pluggable.NewLibrary(newDevice(), pluggable.Environment{Trace: "/no/such/folder/log"}); err == nil {
		t.Error("a log that cannot be written was begun")
	}
}

// TestForeignCapture: a capture that somebody else began on a stream that was seen keeps
// memory from going back to the driver.
func TestForeignCapture(t *testing.T) {
	d := newDevice()
	l, err := pluggable.NewLibrary(d, pluggable.Environment{})
	must(t, err)
	s := d.stream(t, 0)
	l.Free(l.Malloc(1000, 0, s))
	must(t, d.BeginCapture(0, s, spec.CaptureGlobal))
	l.Reset()
	if status, err := d.CaptureStatus(0, s); err != nil || status.Status != spec.CaptureActive {
		t.Errorf("the capture is %v (%v)", status.Status, err)
	}
	if l.LastError() != nil {
		t.Error(l.LastError())
	}
	_, err = d.EndCapture(0, s)
	must(t, err)
	l.Reset()
	if leaks := d.Leaks(); strings.Contains(strings.Join(leaks, " "), "memory") {
		t.Errorf("after the capture the driver has not got back %q", leaks)
	}
}

// knowing is a device that knows of its captures.
type knowing struct{ device }

func (k knowing) FreeForbidden() bool { return k.GPU.FreeForbidden() }

// TestCaptureOfTheDevice: the device may know of a capture on a stream that the library has not seen.
func TestCaptureOfTheDevice(t *testing.T) {
	d := knowing{newDevice()}
	l, err := pluggable.NewLibrary(d, pluggable.Environment{})
	must(t, err)
	s := d.stream(t, 0)
	l.Free(l.Malloc(1000, 0, 0))
	must(t, d.BeginCapture(0, s, spec.CaptureGlobal))
	l.Reset()
	if status, err := d.CaptureStatus(0, s); err != nil || status.Status != spec.CaptureActive || l.LastError() != nil {
		t.Errorf("the capture is %v (%v, %v)", status.Status, err, l.LastError())
	}
}

// failing is a device whose driver does not say whose a stream is.
type failing struct {
	device
	err error
}

func (f failing) StreamDevice(spec.Stream) (spec.Device, error) { return 0, f.err }

// TestLastError: it is what went wrong last, and stays when something goes well.
func TestLastError(t *testing.T) {
	d := newDevice()
	unknown := &spec.DriverError{Call: "StreamDevice", Name: "CUDA_ERROR_INVALID_HANDLE", Code: 400}
	l, err := pluggable.NewLibrary(failing{d, unknown}, pluggable.Environment{})
	must(t, err)
	p, q := l.Malloc(1000, 0, 0), l.Malloc(1000, 0, 0)
	l.Free(0xbad)
	if name := trace.ErrorName(l.LastError()); name != trace.ErrorInvalidPointer {
		t.Errorf("a free of nothing: %v", l.LastError())
	}
	l.Free(p)
	if name := trace.ErrorName(l.LastError()); name != trace.ErrorInvalidPointer {
		t.Errorf("after a free: %v", l.LastError())
	}
	l.RecordStream(q, d.stream(t, 0))
	if l.LastError() != unknown {
		t.Errorf("a use on an unknown stream: %v", l.LastError())
	}
	l.Free(q) // at once: there was no use
	l.Reset()
	if leaks := d.Leaks(); strings.Contains(strings.Join(leaks, " "), "memory") {
		t.Errorf("the driver has not got back %q", leaks)
	}
}

// TestLogOfWrongCalls: a second free of a pointer is in no trace, and a log that was damaged becomes none.
func TestLogOfWrongCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	l, err := pluggable.NewLibrary(newDevice(), pluggable.Environment{Trace: path})
	must(t, err)
	p := l.Malloc(1000, 0, 0)
	l.Free(p)
	l.Free(p)
	must(t, l.Close())
	if _, ops, _, err := trace.ReadFile(path); err != nil || len(ops) != 2 {
		t.Errorf("%d operations, %v", len(ops), err)
	}
	path += "2"
	l, err = pluggable.NewLibrary(newDevice(), pluggable.Environment{Trace: path})
	must(t, err)
	for range 500 {
		l.Free(l.Malloc(1000, 0, 0))
	}
	must(t, os.Truncate(path+".part", 0))
	if err := l.Close(); err == nil {
		t.Error("a log that was emptied meanwhile is a trace")
	}
	if left, _ := filepath.Glob(path + "*"); left != nil {
		t.Errorf("it has left %q", left)
	}
}

// TestRelease: routing without a capture keeps memory until 2.12, and does not since 2.13.
func TestRelease(t *testing.T) {
	for release, keeps := range map[string]bool{"": true, "2.12": true, "2.13": false, "2.15": false} {
		d := newDevice()
		l, err := pluggable.NewLibrary(d, pluggable.Environment{Release: release})
		must(t, err)
		l.Free(l.Malloc(1000, 0, 0))
		l.BeginAllocateToPool(0, spec.PoolID{User: 1}, func(spec.Stream) bool { return false })
		l.Reset()
		if kept := strings.Contains(strings.Join(d.Leaks(), " "), "memory"); kept != keeps {
			t.Errorf("by the rules of %q memory is kept while requests are routed: %v", release, kept)
		}
		l.EndAllocateToPool(0, spec.PoolID{User: 1})
		if l.LastError() != nil {
			t.Error(l.LastError())
		}
	}
	_, err := pluggable.NewLibrary(newDevice(), pluggable.Environment{Release: "2.99"})
	if err == nil || !strings.Contains(err.Error(), `GAUGEBLOCK_RELEASE: no release "2.99" is known`) {
		t.Errorf("an unknown release: %v", err)
	}
}

// TestCaptureByMark: memory of an eager program that a captured stream uses is freed in the capture. By the rules of
// every release its free waits for the capture's end: since 2.13 only if the capture is marked and the call is the
// capturing thread's, since an event would otherwise be recorded in the capture, and asked for.
func TestCaptureByMark(t *testing.T) {
	for _, release := range []string{"2.11", "2.15"} {
		d := newDevice()
		l, err := pluggable.NewLibrary(d, pluggable.Environment{Release: release})
		must(t, err)
		s := d.stream(t, 0)
		p := l.Malloc(1000, 0, 0)
		l.BeginAllocateToPool(0, spec.PoolID{Capture: 1}, func(asked spec.Stream) bool { return asked == s })
		must(t, d.BeginCapture(0, s, spec.CaptureRelaxed))
		inside := l.Malloc(1000, 0, s)
		l.RecordStream(p, s)
		l.Free(p)
		l.Malloc(1000, 0, s)
		l.Free(inside)
		if status, err := d.CaptureStatus(0, s); err != nil || status.Status != spec.CaptureActive {
			t.Errorf("by the rules of %s the capture is %v (%v)", release, status.Status, err)
		}
		_, err = d.EndCapture(0, s)
		must(t, err)
		l.EndAllocateToPool(0, spec.PoolID{Capture: 1})
		if again := l.Malloc(1000, 0, 0); again != p {
			t.Errorf("by the rules of %s the memory at %v is not used again when the capture is over, but that at %v", release, p, again)
		}
		if l.LastError() != nil {
			t.Errorf("by the rules of %s: %v", release, l.LastError())
		}
	}
}

// TestReadEnvironment: the new name of the settings goes before the old one.
func TestReadEnvironment(t *testing.T) {
	t.Setenv("PYTORCH_CUDA_ALLOC_CONF", "old")
	t.Setenv("PYTORCH_ALLOC_CONF", "")
	if got := pluggable.ReadEnvironment(os.Getenv).Settings; got != "old" {
		t.Errorf("settings %q", got)
	}
	t.Setenv("PYTORCH_ALLOC_CONF", "new")
	t.Setenv("PYTORCH_NO_CUDA_MEMORY_CACHING", "1")
	t.Setenv("GAUGEBLOCK_TRACE", "file")
	t.Setenv("GAUGEBLOCK_RELEASE", "2.15")
	if got := pluggable.ReadEnvironment(os.Getenv); got != (pluggable.Environment{Settings: "new", Uncached: true, Trace: "file", Release: "2.15"}) {
		t.Errorf("%+v", got)
	}
}
