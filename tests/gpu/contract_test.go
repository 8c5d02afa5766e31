package gpu

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/dustin/go-humanize"

	"gaugeblock/cudaimpl"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// Conversations with a device, in testdata/contract: a line is a call, the answer stands
// behind it. Things get names when they are made. An error is CUDA's number of it, which
// is the same in the driver's interface and the runtime's; the names differ. What
// depends on the device (addresses, figures of memory) is not said.
//
// The fake device and the real one must give the same answers. -rewrite writes the
// fake device's down.
//
//go:embed testdata/contract/*
var conversations embed.FS

// Conversations whose name begins with two_devices need two. Those of two_devices_lost lose
// the process's context on a real device, which holds each block in a process of its own.
// The fake device waits as the real one does (fakegpu.Config.FreeWaits).
func TestContract(t *testing.T) {
	files, err := conversations.ReadDir("testdata/contract")
	must(t, err)
	for _, file := range files {
		name := path.Join("testdata/contract", file.Name())
		t.Run(file.Name(), func(t *testing.T) {
			text, err := conversations.ReadFile(name)
			must(t, err)
			lost := file.Name() == "two_devices_lost"
			t.Run("fake", func(t *testing.T) {
				within(t, newPatientFake(), func(l *lab) {
					hold := converse(func() device { return l.device })
					if lost {
						hold = converse(newPatientFake)
					}
					if flag.Lookup("rewrite").Value.String() == "true" {
						datadriven.RunTest(l.T, name, hold)
						return
					}
					datadriven.RunTestFromString(l.T, string(text), hold)
				})
			})
			t.Run("device", func(t *testing.T) {
				within(t, openReal(t), func(l *lab) {
					if strings.HasPrefix(file.Name(), "two_devices") && l.DeviceCount() < 2 {
						l.Skip("the machine has one device, two are needed")
					}
					hold := converse(func() device { return l.device })
					if lost {
						hold = converseElsewhere
					}
					var differences []string
					datadriven.RunTestFromString(l.T, string(text), whatDiffers(&differences, hold))
					for _, d := range differences {
						l.Error(d)
					}
				})
			})
		})
	}
}

// whatDiffers lets the conversation go on after an answer that differs, and adds those to a list.
func whatDiffers(list *[]string, hold func(*testing.T, *datadriven.TestData) string) func(*testing.T, *datadriven.TestData) string {
	return func(t *testing.T, block *datadriven.TestData) string {
		got, want := strings.Split(hold(t, block), "\n"), strings.Split(block.Expected, "\n")
		if len(got) != len(want) {
			*list = append(*list, fmt.Sprintf("%s: %d answers, not %d", block.Pos, len(got), len(want)))
		}
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				*list = append(*list, fmt.Sprintf("%s, line %d: %s; expected: %s", block.Pos, i+1, got[i], want[i]))
			}
		}
		return block.Expected
	}
}

// newPatientFake is a fake device whose Free waits for the device.
func newPatientFake() device {
	return fake{fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(3, 16*spec.GiB), FreeWaits: true})}
}

// converse answers a block, on a device.
func converse(on func() device) func(*testing.T, *datadriven.TestData) string {
	return func(_ *testing.T, block *datadriven.TestData) string { return sayAll(on(), block.Input) }
}

// converseElsewhere lets another process answer a block, on the real device.
func converseElsewhere(t *testing.T, block *datadriven.TestData) string {
	r := askOther(t, "talker", &loan{Lines: block.Input})
	if r.Error != "" {
		t.Fatal(r.Error)
	}
	return r.Said
}

// talkElsewhere is the other process's part.
func talkElsewhere(lines string) (said string, err error) {
	gpu, err := cudaimpl.Open()
	if err != nil {
		return "", err
	}
	defer gpu.Close() // it cannot succeed if the context is lost
	return sayAll(real{gpu}, lines), nil
}

func sayAll(d device, lines string) string {
	talk := &talk{
		device: d, names: map[string]uint64{}, on: map[string]spec.Device{"default1": 1},
		handles: map[string][]byte{}, releases: map[string]func(){},
	}
	var out strings.Builder
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line != "" {
			fmt.Fprintf(&out, "%-40s %s\n", line, talk.sayInTime(line))
		}
	}
	return out.String()
}

// sayInTime is say; should the call wait for a stream that is held, which nobody has expected
// of it, all streams are released after a while, and the answer says so.
func (tk *talk) sayInTime(line string) string {
	var late atomic.Bool
	watchdog := time.AfterFunc(10*callPatience, func() {
		late.Store(true)
		for _, release := range tk.releases {
			release()
		}
	})
	answer := tk.say(line)
	if watchdog.Stop(); late.Load() {
		return "waited; then " + answer
	}
	return answer
}

// talk is the state of a block.
type talk struct {
	device
	names    map[string]uint64
	on       map[string]spec.Device // of what has a name
	handles  map[string][]byte
	releases map[string]func() // of held streams
	nodes    []spec.GraphNode  // called n1, n2... in the order in which they were first seen
	waiting  func() string     // gives the answer of the call that waits
}

func (tk *talk) say(line string) string {
	words := strings.Fields(line)
	switch words[0] {
	case "try":
		return tk.try(strings.Join(words[1:], " "))
	case "then":
		return tk.waiting()
	}
	say, known := contractWords[words[0]]
	if !known {
		return "unknown word"
	}
	return say(tk, append(words[1:], "", "", ""))
}

// waits is the answer of a call that does not return while a stream is held.
const waits = "waits"

// callPatience is after how long a call of a real device counts as one that waits.
const callPatience = time.Second

// try makes a call that may wait for a stream that is held: try CALL. The line "then", after
// the stream was released, has the call's own answer. The fake device refuses to wait, so
// it gets the call again.
func (tk *talk) try(line string) string {
	if _, isFake := tk.device.(fake); isFake {
		answer := tk.say(line)
		tk.waiting = func() string {
			if answer == waits {
				return tk.say(line)
			}
			return answer
		}
		return answer
	}
	said := make(chan string, 1)
	go func() { said <- tk.say(line) }()
	tk.waiting = func() string {
		select {
		case answer := <-said:
			return answer
		case <-time.After(5 * callPatience):
			return "still waits"
		}
	}
	select {
	case answer := <-said:
		tk.waiting = func() string { return answer }
		return answer
	case <-time.After(callPatience):
		return waits
	}
}

// lost says whether work has touched memory that is not there, once the devices have nothing
// left to do.
func (tk *talk) lost() string {
	for dev := range spec.Device(2) {
		if err := tk.SynchronizeDevice(dev); errors.Is(err, cudaimpl.ErrContextLost) {
			return "illegal address"
		}
	}
	if d, isFake := tk.device.(fake); isFake && len(d.Violations()) > 0 {
		return "illegal address"
	}
	return "no"
}

// strange is what a name stands for that was never given: no handle of anything.
const strange = 0xbad0bad000

func (tk *talk) name(word string) uint64 {
	if word == "default" || word == "default1" {
		return 0
	}
	if handle, known := tk.names[word]; known {
		return handle
	}
	return strange
}

// give names what a call has made.
func (tk *talk) give(word string, handle uint64, err error) string {
	if err == nil {
		tk.names[word] = handle
	}
	return answer(err)
}

// giveOn is give for a thing of a device.
func (tk *talk) giveOn(word string, handle uint64, device string, err error) string {
	if err == nil {
		tk.on[word] = deviceNumber(device)
	}
	return tk.give(word, handle, err)
}

// deviceNumber is a device that is named, 0 if none is.
func deviceNumber(word string) spec.Device {
	n, _ := strconv.Atoi(word)
	return spec.Device(n)
}

// deviceOf is the device of the memory that a span is of.
func (tk *talk) deviceOf(span string) spec.Device {
	name, _, _ := strings.Cut(span, ":")
	name, _, _ = strings.Cut(name, "+")
	return tk.on[name]
}

func answer(err error) string {
	var failed *spec.DriverError
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, fakegpu.ErrEndlessWait):
		return waits
	case errors.As(err, &failed) && errors.Is(err, spec.ErrDriverOutOfMemory):
		return fmt.Sprintf("error %d, out of memory", failed.Code)
	case errors.As(err, &failed) && errors.Is(err, spec.ErrNotSupported):
		return fmt.Sprintf("error %d, not supported", failed.Code)
	case errors.As(err, &failed):
		return fmt.Sprintf("error %d", failed.Code)
	}
	return err.Error()
}

func size(word string) uint64 {
	n, err := humanize.ParseBytes(word)
	if err != nil {
		panic(err)
	}
	return n
}

// span is NAME, NAME:BYTES, or NAME+OFFSET:BYTES.
func (tk *talk) span(word string) spec.Range {
	name, bytes, _ := strings.Cut(word, ":")
	name, offset, _ := strings.Cut(name, "+")
	r := spec.Range{Ptr: spec.Ptr(tk.name(name))}
	if offset != "" {
		r.Ptr += spec.Ptr(size(offset))
	}
	if bytes != "" {
		r.Bytes = size(bytes)
	}
	return r
}

func (tk *talk) stream(word string) spec.Stream { return spec.Stream(tk.name(word)) }

// nodeNames gives nodes their names.
func (tk *talk) nodeNames(nodes []spec.GraphNode) string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		at := slices.Index(tk.nodes, n)
		if at < 0 {
			at = len(tk.nodes)
			tk.nodes = append(tk.nodes, n)
		}
		names[i] = fmt.Sprintf("n%d", at+1)
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}
