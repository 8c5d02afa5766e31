package replay_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/conformance/perform"
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
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "replay" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			allocator := "reference"
			d.MaybeScanArgs(t, "allocator", &allocator)
			var story bytes.Buffer
			result, err := replay.Reader(strings.NewReader(d.Input), "trace", replay.Options{
				New: allocators[allocator], Sentences: &story,
			})
			if err != nil {
				return fmt.Sprintf("%serror: %v\n", &story, err)
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
	// plain knows nothing of expandable segments.
	"plain": func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		if strings.Contains(h.Settings, "expandable_segments:True") {
			return nil, &spec.NotSupportedError{Op: "settings", Reason: "expandable_segments:True"}
		}
		return reference.New(driver, h)
	},
}
