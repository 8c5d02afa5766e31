package gpu

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/dustin/go-humanize"

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

func TestContract(t *testing.T) {
	files, err := conversations.ReadDir("testdata/contract")
	must(t, err)
	for _, file := range files {
		name := path.Join("testdata/contract", file.Name())
		t.Run(file.Name(), func(t *testing.T) {
			text, err := conversations.ReadFile(name)
			must(t, err)
			onBoth(t, func(l *lab) {
				if _, fake := l.device.(fake); fake && flag.Lookup("rewrite").Value.String() == "true" {
					datadriven.RunTest(l.T, name, converse(l.device))
					return
				}
				datadriven.RunTestFromString(l.T, string(text), converse(l.device))
			})
		})
	}
}

// converse answers a block.
func converse(d device) func(*testing.T, *datadriven.TestData) string {
	return func(t *testing.T, block *datadriven.TestData) string {
		talk := &talk{device: d, names: map[string]uint64{}, handles: map[string][]byte{}, releases: map[string]func(){}}
		var out strings.Builder
		for line := range strings.Lines(block.Input) {
			line = strings.TrimSpace(line)
			if line != "" {
				fmt.Fprintf(&out, "%-40s %s\n", line, talk.say(line))
			}
		}
		return out.String()
	}
}

// talk is the state of a block.
type talk struct {
	device
	names    map[string]uint64
	handles  map[string][]byte
	releases map[string]func() // of held streams
	nodes    []spec.GraphNode  // called n1, n2... in the order in which they were first seen
}

func (tk *talk) say(line string) string {
	words := strings.Fields(line)
	say, known := contractWords[words[0]]
	if !known {
		return "unknown word"
	}
	return say(tk, append(words[1:], "", "", ""))
}

// strange is what a name stands for that was never given: no handle of anything.
const strange = 0xbad0bad000

func (tk *talk) name(word string) uint64 {
	if word == "default" {
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

func answer(err error) string {
	var failed *spec.DriverError
	switch {
	case err == nil:
		return "ok"
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
