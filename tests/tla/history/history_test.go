package history

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gaugeblock/internal/refinement"
	"gaugeblock/model/bounded"
	"gaugeblock/model/tlc"
	spectla "gaugeblock/tla"
)

var (
	keep  = flag.String("keep", "", "a file for the history of the last random program")
	tools = flag.String("tools", "", "the file tla2tools.jar: TLC follows the history too")
	given = flag.String("history", "", "the file with the history that TLC follows; without, that of the last random program")
)

// config is that of tla/MCTraceCore.tla, without the part on traces.
func config(t rapid.TB) *tlc.Config {
	text, err := spectla.Files.ReadFile("MCCore_tiny.cfg")
	if err != nil {
		t.Fatal(err)
	}
	c, err := spectla.ReadConfig(text, "MCCore_tiny.cfg")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func module(t rapid.TB) bounded.Module {
	check, err := bounded.NewCheck("core", config(t))
	if err != nil {
		t.Fatal(err)
	}
	return check.Module
}

// record runs a random program on the reference and records its  The model only
// provides the possible labels.
func record(t *rapid.T, m bounded.Module) (events []Event) {
	initial := m.Initial()[0]
	w, err := refinement.NewSystem(initial, config(t))
	if err != nil {
		t.Fatal(err)
	}
	state, err := w.Refine()
	for range rapid.IntRange(1, 60).Draw(t, "length") {
		if err != nil {
			t.Fatal(err)
		}
		var possible []string
		m.Next(state, func(label int, _ *bounded.State) { possible = append(possible, m.Labels()[label]) })
		label := rapid.SampledFrom(possible).Draw(t, "label")
		if err := w.Do(label); err != nil {
			t.Fatal(err)
		}
		before := state
		if state, err = w.Refine(); err != nil {
			t.Fatal(err)
		}
		e, err := NewEvent(label, before, state)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// TestHistories: what the reference does is a behaviour of the model. With -keep the
// history of the last program is kept; with -tools TLC follows it, or that of -history.
func TestHistories(t *testing.T) {
	m := module(t)
	var last []Event
	rapid.Check(t, func(t *rapid.T) {
		last = record(t, m)
		if err := Follow(m, last); err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := Write(&text, last); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&text, "history")
		if d := cmp.Diff(last, again); err != nil || d != "" {
			t.Fatal(err, d)
		}
	})
	if *keep != "" {
		var text bytes.Buffer
		if err := Write(&text, last); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(*keep, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if *given != "" {
		last = readFile(t, *given)
	}
	if *tools != "" {
		followWithTLC(t, last)
	}
}

// example is the history in tla/TraceData.tla.
const example = `{"action":"Malloc","args":[1,2],"result":0,"reserved":4}
{"action":"Malloc","args":[1,2],"result":2,"reserved":4}
{"action":"RecordStream","args":[0,2],"result":0,"reserved":4}
{"action":"Free","args":[0],"result":0,"reserved":4}
{"action":"Malloc","args":[1,1],"result":-1,"reserved":4}
{"action":"Malloc","args":[1,2],"result":0,"reserved":4}
{"action":"RecordStream","args":[2,2],"result":0,"reserved":4}
{"action":"Free","args":[2],"result":0,"reserved":4}
{"action":"Free","args":[0],"result":0,"reserved":4}
{"action":"Complete","args":[2],"result":0,"reserved":4}
{"action":"Malloc","args":[2,2],"result":0,"reserved":4}
`

func read(t *testing.T, text string) []Event {
	events, err := Read(strings.NewReader(text), "example")
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// TestExample: the module in tla/ is what Module makes of the example.
func TestExample(t *testing.T) {
	events := read(t, example)
	if err := Follow(module(t), events); err != nil {
		t.Error(err)
	}
	text, err := spectla.Files.ReadFile("TraceData.tla")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ *\[action.*$`)
	spaces := regexp.MustCompile(` +`)
	lines := func(module []byte) (list []string) {
		for _, l := range line.FindAllString(string(module), -1) {
			list = append(list, spaces.ReplaceAllString(l, ""))
		}
		return list
	}
	if d := cmp.Diff(lines(text), lines(Module(events))); d != "" {
		t.Error(d)
	}
}

// TestFollow: a history that is no behaviour is an error at its first wrong event.
func TestFollow(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		// the cache was searched again
		{`[1,1],"result":-1`, `[1,1],"result":0`, "event 5: Malloc(1,1): the result is -1"},
		{ // reuse without waiting
			`{"action":"Complete","args":[2],"result":0,"reserved":4}`, `{"action":"Malloc","args":[1,2],"result":2,"reserved":4}`,
			"event 10: Malloc(1,2): the result is 0",
		},
		{`"result":2,"reserved":4`, `"result":2,"reserved":2`, "event 2: Malloc(1,2): the result is 2 with 4 reserved"},
		{`"args":[0],`, `"args":[1],`, "event 4: Free(1) is not possible"},
	} {
		err := Follow(module(t), read(t, strings.Replace(example, c.old, c.new, 1)))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.new, err, c.want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{", "f:1: "}, {`{"action":"Malloc","args":[1]}`, "f:1: no action"}, {`{"action":"Nothing","args":[]}`, "f:1: no action"},
		{"{\"action\":\"EmptyCache\",\"args\":[]}\n{\"other\":1}", "f:2: "}, {`{"action":"EmptyCache","args":[]} {}`, "f:1: "},
	} {
		if _, err := Read(strings.NewReader(c.text), "f"); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.text, err, c.want)
		}
	}
}
