package replay_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/conformance/perform"
	"gaugeblock/internal/checkout"
	"gaugeblock/internal/mutated"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// TestTranscripts replays the traces that stand in testdata and compares the
// story and the result with what stands below them. A trace of no expectations
// is only executed, and only its story shows what happened.
//
//	replay [allocator=NAME]     the trace through one of the allocators below
//	damaged NAME seed=N [allocator=NAME]    a recorded trace's beginning of which lines are changed: the end of its story
//	tally                       what is said of all damaged ones together
func TestTranscripts(t *testing.T) {
	recorded, err := checkout.OwnTraces()
	if err != nil {
		t.Fatal(err)
	}
	var tally replay.Tally
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			input := d.Input
			switch d.Cmd {
			case "replay":
			case "damaged":
				var seed int
				d.ScanArgs(t, "seed", &seed)
				if input, err = mutated.Trace(rand.New(rand.NewPCG(uint64(seed), 0)), recorded[d.CmdArgs[0].Key], false); err != nil {
					t.Fatal(err)
				}
			case "tally":
				text, _ := json.Marshal(tally)
				return fmt.Sprintf("%v\n%s\n", tally, text)
			default:
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			allocator := "reference"
			d.MaybeScanArgs(t, "allocator", &allocator)
			var story bytes.Buffer
			result, err := replay.Reader(strings.NewReader(input), "trace", replay.Options{
				New: allocators[allocator], Sentences: &story,
			})
			if d.Cmd == "damaged" {
				lines := strings.SplitAfter(story.String(), "\n")
				story.Reset()
				for _, line := range lines[max(len(lines)-5, 0):] {
					fmt.Fprintf(&story, "%.200s\n", strings.TrimSpace(line))
				}
				tally.Add(&result)
			}
			if err != nil {
				return fmt.Sprintf("%serror: %v\n", &story, err)
			}
			if d.Cmd == "damaged" {
				text, _ := json.Marshal(result)
				return fmt.Sprintf("%s%v\n%s\n%+v\n", &story, &result, text, result.Parts)
			}
			return fmt.Sprintf("%s%v\n", &story, &result)
		})
	})
}

// allocators are the reference, and the reference with abilities taken away.
var allocators = map[string]perform.Factory{
	"reference": reference.New,
	// bare can do what every allocator can.
	"bare": func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		a, err := reference.New(driver, h)
		return struct{ spec.Allocator }{a}, err
	},
	// observed is a spec.Observable as well.
	"observed": func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		a, err := reference.New(driver, h)
		return struct {
			spec.Allocator
			spec.Observable
		}{a, a.(spec.Observable)}, err
	},
	// mute says nothing of its memory, and of want of memory only that it wants.
	"mute": func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		a, err := reference.New(driver, h)
		return mute{a}, err
	},
	// plain knows nothing of expandable segments.
	"plain": func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		if strings.Contains(h.Settings, "expandable_segments:True") {
			return nil, &spec.NotSupportedError{Op: "settings", Reason: "expandable_segments:True"}
		}
		return reference.New(driver, h)
	},
}

type mute struct{ spec.Allocator }

func (m mute) Malloc(r spec.Request) (spec.Ptr, error) {
	at, err := m.Allocator.Malloc(r)
	if errors.Is(err, spec.ErrOutOfMemory) {
		err = fmt.Errorf("it wants memory: %w", spec.ErrOutOfMemory)
	}
	return at, err
}

func (mute) Stats(spec.Device) (spec.DeviceStats, error) {
	return spec.DeviceStats{}, errors.New("it counts nothing")
}
func (mute) Snapshot() (spec.Snapshot, error) { return spec.Snapshot{}, errors.New("it shows nothing") }
