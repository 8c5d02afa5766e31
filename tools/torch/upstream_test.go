package torch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/internal/refinement"
	"gaugeblock/model/bounded"
	"gaugeblock/model/tlc"
	"gaugeblock/tla"
)

// The counterexamples of the specification in upstream's mode (tla/upstream), as TLC found them,
// on PyTorch's own allocator. A file of testdata/upstream has a program for each:
//
//	configuration: NAME
//	sizes: 1=1MiB 2=20MiB      what requests of that number of units are (default: 1=1MiB)
//	captures: global           streams are captured when requests are routed to a pool, in this mode
//	new memory=2MiB            the device, as in testdata/rows
//	steps                      the steps of the counterexample
//	layout                     what is to be seen, as in testdata/rows
//
// and below it what the reference and PyTorch answered. All steps but those that only upstream
// has are the model's as well: the reference takes them on the configuration's own device, too, and
// is in the model's states, in which the property holds.

const upstreamFile = "testdata/upstream"

// ofThreads are the counterexamples that no program of one thread shows, with their programs in
// C++ (TestRowsInCplusplus).
var ofThreads = map[string]string{"free_restore": "free_restore"}

func TestUpstreamCounterexamples(t *testing.T) {
	forReleases(t, "2.11", "2.11") // whose rules the modules of upstream have
	o := built(t)
	shown := map[string]bool{}
	var wrong []string
	datadriven.RunTest(t, upstreamFile, func(t *testing.T, d *datadriven.TestData) string {
		c, err := readCounterexample(d.Input)
		if err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}
		if err := c.follow(); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: the reference: %v", d.Pos, err))
		}
		p := program{lines: c.lines}
		ours, err := p.perform("2.11")
		if err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}
		theirs, err := apart(o, []program{p})
		if err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}
		shown[c.configuration.Name] = true
		answers := p.beside(ours, theirs[0])
		if kept := strings.HasPrefix(c.configuration.Name, "weak_"); kept == strings.Contains(answers, "  PyTorch:") {
			wrong = append(wrong, fmt.Sprintf("%s: %s: that PyTorch answers otherwise is %v", d.Pos, c.configuration.Name, kept))
		}
		return answers
	})
	for _, what := range wrong {
		t.Error(what)
	}
	list, err := tla.UpstreamConfigurations()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		inCplusplus := slices.ContainsFunc(cplusplusRows, func(r cplusplusRow) bool { return r.name == ofThreads[c.Name] && r.row == c.Row })
		if shown[c.Name] == inCplusplus {
			t.Errorf("that %s has a counterexample of %s is %v", upstreamFile, c.Name, shown[c.Name])
		}
	}
}

// counterexample is one of them, as lines of a program.
type counterexample struct {
	configuration tla.UpstreamConfiguration
	manifest      *tla.Manifest
	module        bounded.Module
	config        *tlc.Config

	sizes    map[string]string
	captures string // the mode; "": streams are not captured
	lines    []string

	state   *bounded.State
	path    []*bounded.State // nil after a step that only upstream has
	names   map[string]string
	touches map[string][]string // by name: the streams that use it, other than in a capture
	routed  []string
	mallocs int
}

// readCounterexample reads a program of the file.
func readCounterexample(input string) (*counterexample, error) {
	c := &counterexample{sizes: map[string]string{"1": "1MiB"}, names: map[string]string{}, touches: map[string][]string{}}
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		name, found := strings.CutPrefix(line, "configuration: ")
		switch {
		case found:
			if err := c.open(name); err != nil {
				return nil, err
			}
		case strings.HasPrefix(line, "sizes: "):
			for _, size := range strings.Fields(line)[1:] {
				units, bytes, _ := strings.Cut(size, "=")
				c.sizes[units] = bytes
			}
		case strings.HasPrefix(line, "captures: "):
			c.captures = strings.Fields(line)[1]
		case line == "steps":
			for _, label := range c.manifest.Steps {
				if err := c.step(label); err != nil {
					return nil, err
				}
			}
		case line != "":
			c.lines = append(c.lines, line)
		}
	}
	return c, nil
}

// open finds the configuration, and the model of the reference with the same constants.
func (c *counterexample) open(name string) error {
	list, err := tla.UpstreamConfigurations()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(c tla.UpstreamConfiguration) bool { return c.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no configuration %q", name)
	}
	c.configuration = list[i]
	if c.manifest, err = tla.ReadUpstreamManifest(name); err != nil {
		return err
	}
	text, err := tla.UpstreamFiles.ReadFile("upstream/" + c.configuration.Cfg)
	if err != nil {
		return err
	}
	own := "SPECIFICATION Spec\nCONSTANTS\n"
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, " = ") { // no operator that is replaced, and no property
			own += line
		}
	}
	if c.config, err = tla.ReadConfig([]byte(own+"CHECK_DEADLOCK FALSE\n"), c.configuration.Cfg); err != nil {
		return err
	}
	check, err := bounded.NewCheck(c.configuration.Mirror, c.config)
	if err != nil {
		return err
	}
	c.module = check.Module
	c.state = c.module.Initial()[0]
	c.path = append(c.path, c.state)
	return nil
}

// step adds the lines of a step.
func (c *counterexample) step(label string) error {
	name, rest, _ := strings.Cut(strings.TrimSuffix(label, ")"), "(")
	n := strings.Split(rest, ",")
	next := bounded.Successor(c.module, c.state, label)
	lines, own := c.linesOf(name, n, next)
	if lines == nil {
		return fmt.Errorf("the step %s is none of the model, and none that only upstream has", label)
	}
	c.lines = append(c.lines, lines...)
	if own {
		c.path = append(c.path, nil)
		return nil
	}
	c.state = next
	c.path = append(c.path, next)
	return nil
}

// linesOf are the lines of a step. own says that only upstream has the step, or that it is no
// call of the allocator.
func (c *counterexample) linesOf(name string, n []string, next *bounded.State) (lines []string, own bool) {
	if lines = upstreamSteps[name]; lines != nil {
		return lines, true
	}
	switch name {
	case "FailedRecord":
		return append(c.uses(c.names[n[0]]), "fail RecordEvent", "free "+c.names[n[0]]), true
	case "FailedMap":
		return []string{"fail MapPage nth=2", c.malloc(n, nil)}, true
	case "BeginCapture":
		return []string{"capture-begin mode=global stream=" + n[0]}, true
	}
	if next == nil {
		return nil, false
	}
	switch name {
	case "Malloc":
		return []string{c.malloc(n, next)}, false
	case "Free":
		return append(c.uses(c.names[n[0]]), "free "+c.names[n[0]]), false
	case "RecordStream":
		if len(c.routed) == 0 || c.captures == "none" && !slices.Contains(c.routed, n[1]) {
			c.touches[c.names[n[0]]] = append(c.touches[c.names[n[0]]], n[1])
		}
		return []string{"record " + c.names[n[0]] + " stream=" + n[1]}, false
	case "EmptyCache":
		return []string{"empty-cache"}, false
	case "Configure":
		return []string{"configure max_split_size_mb:20"}, false
	case "BeginAllocateToPool":
		c.routed = append(c.routed, n[1])
		lines = []string{"pool-begin pool=" + n[0] + " stream=" + n[1]}
		if overflow, err := c.config.Numbers("OverflowPools"); err == nil && len(overflow) > 0 {
			lines = append(lines, "use-on-oom pool="+n[0])
		}
		if c.captures != "" && c.captures != "none" {
			lines = append([]string{"capture-begin stream=" + n[1] + " mode=" + c.captures}, lines...)
		}
		return lines, false
	case "EndAllocateToPool":
		lines = []string{"pool-end pool=" + n[0]}
		if c.captures != "" && c.captures != "none" {
			lines = append(lines, "capture-end stream="+c.routed[0])
		}
		c.routed = c.routed[1:]
		return lines, false
	case "ReleasePool":
		return []string{"pool-release pool=" + n[0]}, false
	case "Checkpoint":
		return []string{"checkpoint c pool=" + n[0]}, false
	}
	return nil, false
}

// upstreamSteps are the lines of steps that only upstream has.
var upstreamSteps = map[string][]string{
	"BeginAgain":         {"pool-begin pool=1 stream=1"},
	"ReleaseAgain":       {"pool-release pool=1"},
	"RestoreUnderEvents": {"restore c"},
	"RestoreOfUses":      {"restore c"},
	"RestoreOfWaiting":   {"restore c"},
	"FailedQuery":        {"drain stream=2", "fail QueryEvent", "malloc x 1MiB stream=1"},
	"FailedUnmap":        {"fail UnmapPage nth=2", "empty-cache"},
}

// malloc is the line of a malloc. Its memory gets the next name.
func (c *counterexample) malloc(n []string, next *bounded.State) string {
	name := string(rune('a' + c.mallocs))
	c.mallocs++
	if next != nil {
		for _, h := range next.Truth.Held {
			if !slices.Contains(c.state.Truth.Held, h) {
				c.names[fmt.Sprint(uint64(h.Ptr-bounded.AddressBase))] = name
			}
		}
	}
	return "malloc " + name + " " + c.sizes[n[1]] + " stream=" + n[0]
}

// uses is the last work with memory of the streams that use it.
func (c *counterexample) uses(name string) (lines []string) {
	for _, stream := range c.touches[name] {
		lines = append(lines, "busy stream="+stream, "kernel "+name+" stream="+stream)
	}
	return lines
}

// follow takes the steps of the model on the reference, up to the first that only upstream
// has.
func (c *counterexample) follow() error {
	sys, err := refinement.NewSystem(c.path[0], c.config)
	if err != nil {
		return err
	}
	for i, label := range c.manifest.Steps {
		if c.path[i+1] == nil {
			return nil
		}
		if err := sys.Follow(c.module, c.path[i], label, c.path[i+1]); err != nil {
			return err
		}
	}
	return nil
}
