package torch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gaugeblock/alloc"
	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/internal/sizes"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	binary "gaugeblock/tools/torch/binary"
)

// staged is what programs need of an allocator.
type staged interface {
	both
	spec.PeerAllocator
}

var _ staged = (*alloc.Allocator)(nil)

// stage performs a program, line by line, on one allocator on a fake device. Its answers
// name addresses as the transcripts of package alloc do: s1, s2, … are segments in the order
// in which they came.
type stage struct {
	factory   perform.Factory
	release   string
	captured  []spec.DeviceStream // whose captures are under way
	machine   *fakegpu.Machine
	gpu       *fakegpu.GPU
	allocator staged
	streams   [][]spec.Stream // of each device; the first is the default stream
	blocks    map[string]block
	states    map[string]spec.PoolState
	handles   map[string][]byte
	opened    map[string]spec.OpenedMemory
	segments  []spec.Range
	said      []string
	calls     []fakegpu.CallCount // before the latest command
	silent    bool                // entries are not news
	begun     map[poolOf]bool     // pools that requests are routed to
	holds     map[poolOf]int      // how often pools have been created or begun, and not released
	marked    []fakegpu.CallCount // at the mark
	refused   int                 // calls of the allocator that have failed
}

// block is what the program has allocated.
type block struct {
	at    spec.Ptr
	bytes uint64
	freed bool
}

// poolOf is a pool of a device.
type poolOf struct {
	device spec.Device
	id     spec.PoolID
}

// perform performs a line and returns what the allocator answered, and did. The error is the
// program's.
func (s *stage) perform(text string) (answer string, err error) {
	w := words{fields: strings.Fields(text)}
	name := w.take()
	s.said = nil
	if s.allocator == nil && name != "new" {
		return "", fmt.Errorf("%s: a program begins with new", text)
	}
	if view := stageViews[name]; view != nil {
		s.silent = true
		err := view(s, &w)
		s.silent = false
		s.answer(err)
		return s.answered(&w, text)
	}
	command := stageCommands[name]
	if command == nil {
		return "", fmt.Errorf("%s: there is no such command", text)
	}
	if s.gpu != nil {
		s.calls = s.gpu.Calls()
	}
	err = command(s, &w)
	if err != nil && !ofTheDevice[name] {
		s.refused++
	}
	s.answer(err)
	return s.answered(&w, text)
}

func (s *stage) answered(w *words, text string) (string, error) {
	if w.err != nil {
		return "", fmt.Errorf("%s: %w", text, w.err)
	}
	return strings.Join(s.said, "\n"), nil
}

func (s *stage) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

// answer says what kind of error there was. The words are each allocator's own.
func (s *stage) answer(err error) {
	var full *spec.OutOfMemoryError
	var driver *spec.DriverError
	var refusal *binary.Refusal
	switch {
	case err == nil:
	case errors.As(err, &full):
		s.say("error: out of memory")
	case errors.As(err, &driver):
		s.say("error: CUDA's %d", driver.Code)
	case saysDriver(err) && strings.HasSuffix(strings.TrimSpace(err.Error()), "unknown error"): // it keeps no number of it
		s.say("error: CUDA's 999")
	case errors.As(err, &refusal) && refusal.Internal():
		s.say("error: an internal assertion fails")
	default:
		s.say("error: refused")
	}
}

// begin makes the device and the allocator. On a patient device a call that waits for a busy
// stream lets the stream catch up; else it fails.
func (s *stage) begin(w *words) error {
	memory, devices := w.size(w.argument("memory", "1GiB")), w.number("devices", 1)
	config := fakegpu.Config{Devices: fakegpu.Devices(devices, memory), Hazards: true, FreeWaits: w.has("patient")}
	for i := range config.Devices {
		config.Devices[i].Fabric = w.has("fabric") || w.number("fabric", -1) == i
	}
	if w.has("patient") {
		config.Waits = fakegpu.WaitsDrain
	}
	if w.has("reuse") {
		config.Addresses = fakegpu.RealLike // which come again
	}
	s.machine = fakegpu.NewMachine(config)
	if err := s.process(w); err != nil {
		return err
	}
	if limit := w.argument("limit", ""); limit != "" {
		_, total, err := s.gpu.MemInfo(0)
		if err != nil {
			return err
		}
		return s.allocator.SetMemoryFraction(0, (float64(w.size(limit))+0.5)/float64(total))
	}
	return nil
}

// process makes an allocator in a new process of the machine.
func (s *stage) process(w *words) error {
	s.gpu = s.machine.NewProcess()
	s.streams = make([][]spec.Stream, s.gpu.DeviceCount())
	for dev := range s.streams {
		s.streams[dev] = []spec.Stream{0}
		for i := range w.number("streams", 2) {
			// PyTorch takes handles for pointers, so they are even.
			stream := spec.Stream(0x5000_0000_0000 + 0x1_0000*dev + 0x100*(i+1))
			if err := s.gpu.AddStream(spec.Device(dev), stream); err != nil {
				return err
			}
			s.streams[dev] = append(s.streams[dev], stream)
		}
	}
	h := trace.Header{Geometry: spec.DefaultGeometry(), Devices: s.gpu.DeviceCount(), Release: s.release, Settings: w.argument("settings", "")}
	a, err := s.factory(s.gpu, &h)
	if err != nil {
		return err
	}
	s.allocator = a.(staged)
	s.segments = nil
	s.allocator.OnTrace(s.addEntry)
	s.blocks, s.states = map[string]block{}, map[string]spec.PoolState{}
	if s.handles == nil {
		s.handles, s.opened = map[string][]byte{}, map[string]spec.OpenedMemory{}
	}
	s.begun, s.holds = map[poolOf]bool{}, map[poolOf]int{}
	return nil
}

// makeCurrent makes the stream current whose capture was begun last, or the default stream.
func (s *stage) makeCurrent() {
	if n := len(s.captured); n > 0 {
		s.current(s.captured[n-1])
	} else {
		s.current(spec.DeviceStream{})
	}
}

func (s *stage) current(stream spec.DeviceStream) {
	s.allocator = s.allocator.(spec.CallerAware).For(spec.Caller{Current: stream}).(staged)
}

// addEntry says a trace entry.
func (s *stage) addEntry(e spec.HistoryEntry) {
	switch {
	case s.silent || e.Action == spec.ActionSnapshot:
		return
	case e.Action == spec.ActionSegmentAlloc:
		s.segments = append(s.segments, spec.Range{Ptr: e.Addr, Bytes: e.Size})
	case e.Action == spec.ActionSegmentMap && s.segment(e.Addr) < 0:
		s.segments = append(s.segments, spec.Range{Ptr: e.Addr, Bytes: 1 << 40})
	case e.Action == spec.ActionOOM:
		s.say("oom %s on %s", sizes.Format(e.Size), s.streamName(e.Device, e.Stream))
		return
	}
	s.say("%s %s %s on %s", e.Action, s.name(e.Addr), sizes.Format(e.Size), s.streamName(e.Device, e.Stream))
}

// segment is the latest segment that an address is in; -1 if there is none.
func (s *stage) segment(p spec.Ptr) int {
	for i, r := range slices.Backward(s.segments) {
		if r.Contains(spec.Range{Ptr: p, Bytes: 1}) {
			return i
		}
	}
	return -1
}

// name is an address in terms of the segments.
func (s *stage) name(p spec.Ptr) string {
	i := s.segment(p)
	if i < 0 {
		return p.String()
	}
	offset := uint64(p - s.segments[i].Ptr)
	if offset == 0 {
		return fmt.Sprintf("s%d", i+1)
	}
	return fmt.Sprintf("s%d+%s", i+1, sizes.Format(offset))
}

func (s *stage) names(list []spec.Ptr) string {
	if len(list) == 0 {
		return "none"
	}
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = s.name(p)
	}
	return strings.Join(names, ", ")
}

func (s *stage) streamName(dev spec.Device, stream spec.Stream) string {
	text := fmt.Sprintf("stream %d", slices.Index(s.streams[dev], stream))
	if dev > 0 {
		text += fmt.Sprintf(" of device %d", dev)
	}
	return text
}
