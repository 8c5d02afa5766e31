package torch

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"gaugeblock/internal/race"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	binary "gaugeblock/tools/torch/binary"
	"gaugeblock/tools/torch/wheel"
	"gaugeblock/upstream"
)

// A mistake is one rule of a release that the reference takes from another release, with the area of
// programs, and perhaps the settings, that find it soonest.
type mistake struct{ release, rule, as, area, settings string }

// mistakes are the rules that random programs reach: each is found within seededOperations from each
// of seededStarts.
var mistakes = []mistake{
	{"2.15", "Ties", "2.11", "core", ""},
	{"2.15", "Ties", "2.12", "core", ""},
	{"2.15", "Captures", "2.12", "pools", ""},
	{"2.15", "PoolEndCompletesDeferred", "2.11", "capture", "graph_capture_record_stream_reuse:True"},
	{"2.15", "UseOnOOMLast", "2.10", "pools", ""},
	{"2.15", "UseOnOOMExpandable", "2.9", "pools", "expandable_segments:True"},
	{"2.15", "FirstRoutingWins", "2.9", "pools", ""},
	{"2.15", "FullFractionLimits", "2.9", "limits", ""},
	{"2.15", "LimitRounded", "2.12", "limits", ""},
	{"2.15", "RestoreRefusesGrown", "2.10", "checkpoint", "expandable_segments:True"},
	{"2.15", "RoutedEmptyCacheFails", "2.7", "pools", ""},
	{"2.15", "Settings.NonSplitRoundingKept", "2.10", "limits", ""},
	{"2.15", "Settings.RestIncludesLast", "2.9", "core", "roundup_power2_divisions:[1:2,8:4,>:8]"},
	{"2.8", "Settings.RestIncludesLast", "2.10", "core", "roundup_power2_divisions:[1:2,8:4,>:8]"},
	{"2.8", "UseOnOOMExpandable", "2.10", "pools", "expandable_segments:True"},
	{"2.8", "FirstRoutingWins", "2.10", "pools", ""},
	{"2.8", "RestoreRefusesGrown", "2.11", "checkpoint", "expandable_segments:True"},
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
	own, others := reflect.ValueOf(&release.Rules).Elem(), reflect.ValueOf(other.Rules)
	for _, name := range strings.Split(words[1], ".") {
		own, others = own.FieldByName(name), others.FieldByName(name)
	}
	own.Set(others)
	newReference = func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		return reference.Follows(release)(driver, h)
	}
}

// TestMistakes: lockstep finds each rule that is another release's, with the libraries of the first
// release. With -v it prints the table of docs/lab/torch-releases.md.
func TestMistakes(t *testing.T) {
	if race.Enabled {
		t.Skip("builds the adaptor for each release, and the race detector sees nothing of it")
	}
	this, err := os.Executable()
	must(t, err)
	builds := map[string]binary.Options{}
	for _, m := range mistakes {
		t.Run(strings.Join([]string{m.release, m.rule, m.as}, " "), func(t *testing.T) {
			if _, is := builds[m.release]; !is {
				dir, err := wheel.Find(m.release)
				if err != nil {
					t.Skip(err)
				}
				o, err := binary.Find(dir, t.TempDir())
				must(t, err)
				o.Work = scratch + "/torch-" + m.release
				must(t, binary.Build(o))
				builds[m.release] = o
			}
			found := m.find(t, this, builds[m.release])
			t.Logf("| %s | %s | %s | %s | %s |", m.release, m.rule, m.as, m.area, strings.Join(found, ", "))
		})
	}
}

// find looks for a mistake from each start, and says after how many operations it was found. Without the mistake there
// is nothing to find.
func (m *mistake) find(t *testing.T, this string, o binary.Options) (found []string) {
	c := Conditions{Release: m.release}
	if m.settings != "" {
		c.Settings = &m.settings
	}
	for _, start := range seededStarts {
		t.Setenv(mistakeVariable, strings.Join([]string{m.release, m.rule, m.as}, " "))
		after, what := lookFor(t, this, o, m.area, start, c, seededOperations)
		if after == 0 {
			t.Errorf("from seed %d, nothing is found in %d operations", start, seededOperations)
		}
		t.Log(what)
		found = append(found, fmt.Sprint(after))
		t.Setenv(mistakeVariable, "")
		if at, what := lookFor(t, this, o, m.area, start, c, after); at > 0 {
			t.Errorf("from seed %d, this differs without the mistake: %s", start, what)
		}
	}
	return found
}
