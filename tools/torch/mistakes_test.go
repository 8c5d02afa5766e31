package torch

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	binary "gaugeblock/tools/torch/binary"
	"gaugeblock/tools/torch/wheel"
	"gaugeblock/upstream"
)

// A mistake is one rule of a release that the reference takes from another release.
type mistake struct{ release, rule, as string }

// mistakes are the rules that random programs reach. Within 10,000 operations of an area each is to
// be found.
var mistakes = []struct {
	mistake
	area, settings string
}{
	{mistake{"2.15", "Ties", "2.11"}, "core", ""},
	{mistake{"2.15", "Ties", "2.12"}, "core", ""},
	{mistake{"2.15", "Captures", "2.12"}, "pools", ""},
	{mistake{"2.15", "UseOnOOMLast", "2.10"}, "pools", ""},
	{mistake{"2.15", "UseOnOOMExpandable", "2.9"}, "pools", "expandable_segments:True"},
	{mistake{"2.15", "FirstRoutingWins", "2.9"}, "pools", ""},
	{mistake{"2.15", "FullFractionLimits", "2.9"}, "limits", ""},
	{mistake{"2.15", "LimitRounded", "2.12"}, "limits", ""},
	{mistake{"2.15", "RestoreRefusesGrown", "2.10"}, "checkpoint", ""},
	{mistake{"2.15", "Settings", "2.10"}, "limits", ""},
	{mistake{"2.8", "Settings", "2.10"}, "core", "roundup_power2_divisions:[1:2,8:4,>:8]"},
	{mistake{"2.8", "UseOnOOMExpandable", "2.10"}, "pools", "expandable_segments:True"},
	{mistake{"2.8", "FirstRoutingWins", "2.10"}, "pools", ""},
	{mistake{"2.8", "RestoreRefusesGrown", "2.11"}, "checkpoint", ""},
}

// mistakeVariable has a mistake, in a worker.
const mistakeVariable = "GAUGEBLOCK_TORCH_MISTAKE"

// makeMistake lets the reference follow another release in one rule, if this is a worker that is
// to.
func makeMistake() {
	words := strings.Fields(os.Getenv(mistakeVariable))
	if len(words) != 3 {
		return
	}
	release, _ := upstream.Find(words[0])
	other, _ := upstream.Find(words[2])
	reflect.ValueOf(&release.Rules).Elem().FieldByName(words[1]).Set(reflect.ValueOf(other.Rules).FieldByName(words[1]))
	newReference = func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		return reference.Follows(release)(driver, h)
	}
}

// TestMistakes: lockstep finds each rule that is another release's, with the libraries of the first
// release.
func TestMistakes(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the adaptor for each release, and the race detector sees nothing of it")
	}
	built := map[string]binary.Options{}
	for _, m := range mistakes {
		t.Run(strings.Join([]string{m.release, m.rule, m.as}, " "), func(t *testing.T) {
			dir, err := wheel.Find(m.release)
			if err != nil {
				t.Skip(err)
			}
			o, is := built[m.release]
			if !is {
				o, err = binary.Find(dir, t.TempDir())
				must(t, err)
				o.Work = scratch + "/torch-" + m.release
				must(t, binary.Build(o))
				built[m.release] = o
			}
			t.Setenv(mistakeVariable, strings.Join([]string{m.release, m.rule, m.as}, " "))
			search := Search{PyTorch: o, Areas: []string{m.area}, Operations: 10_000, Seed: 1}
			if m.settings != "" {
				search.Settings = &m.settings
			}
			report, err := search.Run()
			must(t, err)
			if len(report.Unexplained) == 0 {
				t.Errorf("not found within %d operations", report.Operations)
			} else {
				t.Logf("found by %s", strings.Join(report.Unexplained[0].Program, "; "))
			}
		})
	}
}
