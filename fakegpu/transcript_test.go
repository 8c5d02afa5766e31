package fakegpu_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/dustin/go-humanize"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// Transcripts under testdata/ are conversations with a GPU: each line of a block
// is a call, and the answer stands behind it. Things get names when they are made
// (malloc p 2MiB) and are called by them. A line that begins with @B is said by
// process B, others by process A.
//
// What each command does is in the tables of transcript_*_test.go.

func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		tk := &talk{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			if d.Cmd != "machine" && d.Cmd != "then" {
				d.Fatalf(t, "a block begins with machine or then, not %s", d.Cmd)
			}
			if d.Cmd == "machine" {
				tk.reset(t, d)
			}
			for line := range strings.Lines(d.Input) {
				line = strings.TrimSpace(line)
				if line != "" {
					fmt.Fprintf(&out, "%-38s %s\n", line, tk.say(line))
				}
			}
			return out.String()
		})
	})
}

// talk is the state of a transcript.
type talk struct {
	machine   *fakegpu.Machine
	processes map[string]*fakegpu.GPU
	gpu       *fakegpu.GPU // who speaks in the present line
	names     map[string]any
	scripts   map[spec.Device]*fakegpu.Script
	told      map[*fakegpu.GPU]int // hazards listed so far
	outside   func()               // see "inside"
}

// reset makes a new machine as the block's arguments describe it.
func (tk *talk) reset(t *testing.T, d *datadriven.TestData) {
	var c fakegpu.Config
	devices, memory := 1, "1GiB"
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "devices":
			a.Scan(t, 0, &devices)
		case "memory":
			memory = a.Vals[0]
		case "granularity":
			a.Scan(t, 0, &c.PageGranularity)
		case "no-peers":
			c.NoPeerAccess = true
		case "free-waits":
			c.FreeWaits = true
		case "waits-drain":
			c.Waits = fakegpu.WaitsDrain
		case "blocking":
			c.BlockingStreams = true
		case "hazards":
			c.Hazards = true
		case "lazy":
			c.Schedule = fakegpu.Lazy()
		case "fabric", "real-addresses": // below
		default:
			d.Fatalf(t, "unknown argument %s", a.Key)
		}
	}
	c.Devices = fakegpu.Devices(devices, tk.bytes(memory))
	for i := range c.Devices {
		c.Devices[i].Fabric = d.HasArg("fabric")
	}
	if d.HasArg("real-addresses") {
		c.Addresses = fakegpu.RealLike
	}
	*tk = *newTalk(c)
}

// newTalk is a transcript with a new machine, and nothing said.
func newTalk(c fakegpu.Config) *talk {
	tk := &talk{
		machine:   fakegpu.NewMachine(c),
		processes: map[string]*fakegpu.GPU{},
		names:     map[string]any{},
		scripts:   map[spec.Device]*fakegpu.Script{},
		told:      map[*fakegpu.GPU]int{},
	}
	tk.process("A")
	return tk
}

func (tk *talk) process(name string) *fakegpu.GPU {
	if tk.processes[name] == nil {
		tk.processes[name] = tk.machine.NewProcess()
	}
	return tk.processes[name]
}

// command does what a line says and answers.
type command func(tk *talk, args []string) string

// say answers a line.
func (tk *talk) say(line string) string {
	words := strings.Fields(line)
	tk.gpu = tk.process("A")
	if name, found := strings.CutPrefix(words[0], "@"); found {
		tk.gpu = tk.process(name)
		words = words[1:]
	}
	for _, table := range []map[string]command{memoryCommands, workCommands, captureCommands, hazardCommands, otherCommands} {
		if do := table[words[0]]; do != nil {
			return do(tk, words[1:])
		}
	}
	return "?? no such command"
}

// answer is an error, or what else there is to say.
func answer(err error, format string, args ...any) string {
	if err == nil {
		return fmt.Sprintf(format, args...)
	}
	kind := ""
	switch {
	case errors.Is(err, spec.ErrDriverOutOfMemory):
		kind = " [out of memory]"
	case errors.Is(err, spec.ErrNotSupported):
		kind = " [not supported]"
	case errors.Is(err, fakegpu.ErrEndlessWait):
		kind = " [endless wait]"
	}
	return strings.TrimPrefix(err.Error(), "driver: ") + kind
}

// named gives what a name stands for; a name that stands for nothing gives a
// value that no process knows.
func named[T any](tk *talk, name string, stranger T) T {
	if v, ok := tk.names[name].(T); ok {
		return v
	}
	return stranger
}

func (tk *talk) ptr(name string) spec.Ptr {
	base, offset, _ := strings.Cut(name, "+")
	p := named(tk, base, spec.Ptr(0xbad000))
	if base == "null" {
		p = 0
	}
	return p + spec.Ptr(tk.bytes(offset))
}

func (tk *talk) event(name string) spec.EventHandle { return named(tk, name, spec.EventHandle(0xbad)) }

func (tk *talk) page(name string) spec.PageHandle { return named(tk, name, spec.PageHandle(0xbad)) }

// streamName is a stream of some device.
type streamName struct {
	dev    spec.Device
	handle spec.Stream
}

// stream understands a name, or default, or default1 for that of device 1.
func (tk *talk) stream(name string) streamName {
	if dev, found := strings.CutPrefix(name, "default"); found {
		return streamName{dev: tk.device(dev)}
	}
	return named(tk, name, streamName{handle: 0xbad})
}

// device understands 1 and nothing; nothing is device 0.
func (tk *talk) device(s string) spec.Device {
	var d int
	_, _ = fmt.Sscan(s, &d)
	return spec.Device(d)
}

// bytes understands 512 and 2MiB; nothing is 0.
func (tk *talk) bytes(s string) uint64 {
	if s == "" {
		return 0
	}
	n, err := humanize.ParseBytes(s)
	if err != nil {
		panic(err)
	}
	return n
}

// rng understands p, p:512 and p+512:512; without a size it is one byte.
func (tk *talk) rng(s string) spec.Range {
	ptr, size, sized := strings.Cut(s, ":")
	r := spec.Range{Ptr: tk.ptr(ptr), Bytes: 1}
	if sized {
		r.Bytes = tk.bytes(size)
	}
	return r
}

// arg gives an argument, or nothing.
func arg(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}
