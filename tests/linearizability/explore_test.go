package linearizability_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/internal/allrows"
	_ "gaugeblock/internal/gcpercent"
	"gaugeblock/spec"
	"gaugeblock/tests/linearizability"
)

// TestExplore runs every schedule of the programs in testdata/explore, with the lock held
// during the driver call and with it released, and shows the possible results of each
// operation. `go test ./tests/linearizability -run TestExplore -rewrite` writes the
// answers anew; read the difference.
//
//	explore [limit=20MiB] [memory=1GiB] [devices=1] [streams=0] [settings=...]
//	        [lock=held|released] [pauses=(lock,ask,answer,callback,malloc)]
//	        [callback=(a,b)] [allocator=...] [strict] [schedule=(A,B,B)]
//
// The defaults are no limit, both lock modes, and all pauses but the one before a malloc
// takes the lock. With a schedule only that one is run, and its history is shown.
// broken_test.go has the allocators other than the reference.
func TestExplore(t *testing.T) {
	var schedules, histories, files int
	datadriven.Walk(t, "testdata/explore", func(t *testing.T, path string) {
		if testing.Short() && strings.Contains(path, "/long/") {
			t.Skip("runs every schedule of larger programs; the smaller ones run with -short too")
		}
		files++
		if strings.Contains(path, "/long/") && allrows.Without(files, 3) {
			return
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c := parseCommand(t, d)
			if c.schedule != nil {
				return c.replay(t)
			}
			return c.explore(t, &schedules, &histories)
		})
	})
	t.Logf("%d schedules, %d different histories", schedules, histories)
}

// command is an explore command.
type command struct {
	setup    linearizability.Setup
	program  linearizability.Program
	modes    []string // "held", "released"
	schedule *linearizability.Replay
}

const releaseLock = "release_lock_on_cudamalloc:True"

func parseCommand(t *testing.T, d *datadriven.TestData) command {
	c := command{modes: []string{"held", "released"}}
	c.setup.Pauses = linearizability.AllPauses &^ linearizability.BeforeMalloc
	if d.Cmd != "explore" {
		t.Fatalf("%s: there is no command %q", d.Pos, d.Cmd)
	}
	for _, arg := range d.CmdArgs {
		if err := c.set(arg.Key, arg.Vals); err != nil {
			t.Fatalf("%s: %s: %v", d.Pos, arg.Key, err)
		}
	}
	var err error
	if c.program, err = linearizability.ParseProgram(d.Input); err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	return c
}

// set takes one argument of the command.
func (c *command) set(key string, values []string) (err error) {
	switch key {
	case "lock":
		c.modes = values
	case "schedule":
		c.schedule, err = linearizability.ParseSchedule(values)
	case "allocator":
		if c.setup.New = brokenAllocators[values[0]]; c.setup.New == nil {
			return fmt.Errorf("there is no allocator %q", values[0])
		}
	default:
		return c.setup.Set(key, values)
	}
	return err
}

// mode is the setup with the lock held or released.
func (c *command) mode(mode string) linearizability.Setup {
	s := c.setup
	if mode == "released" {
		s.Settings = withRelease(s.Settings)
	}
	return s
}

func withRelease(settings string) string { return strings.TrimPrefix(settings+","+releaseLock, ",") }

// explore runs all schedules in each mode. Results that are equal to those of the mode
// before are not repeated.
func (c *command) explore(t *testing.T, schedules, histories *int) string {
	var text strings.Builder
	var last []linearizability.OpResults
	for _, mode := range c.modes {
		x, err := linearizability.Explore(c.mode(mode), c.program)
		if err != nil {
			t.Fatal(err)
		}
		*schedules += x.Schedules
		*histories += x.Histories
		verdict := "all linearizable"
		if x.Refused > 0 {
			verdict = fmt.Sprintf("%d of them not linearizable", x.Refused)
		}
		fmt.Fprintf(&text, "lock %s: %d schedules, %d histories, %s\n", mode, x.Schedules, x.Histories, verdict)
		if last != nil && sameResults(last, x.Results) {
			text.WriteString("    the same results\n")
		} else {
			text.WriteString(formatResults(x.Results))
		}
		last = x.Results
		if x.First != nil {
			text.WriteString(x.First.Error())
		}
	}
	return text.String()
}

// sameResults: in any order.
func sameResults(a, b []linearizability.OpResults) bool {
	return slices.EqualFunc(a, b, func(x, y linearizability.OpResults) bool {
		return slices.Equal(slices.Sorted(slices.Values(x.Results)), slices.Sorted(slices.Values(y.Results)))
	})
}

// mostResults is how many results of an operation are shown.
const mostResults = 6

func formatResults(list []linearizability.OpResults) string {
	var text strings.Builder
	for _, r := range list {
		results := slices.Clone(r.Results)
		if len(results) > mostResults {
			results = append(results[:mostResults], fmt.Sprintf("and %d more", len(results)-mostResults))
		}
		fmt.Fprintf(&text, "    %c %s: %s\n", 'A'+r.Thread, r.Op, strings.Join(results, " | "))
	}
	return text.String()
}

// replay runs one schedule and shows its history.
func (c *command) replay(t *testing.T) string {
	h, err := linearizability.Run(c.mode(c.modes[0]), c.program, c.schedule)
	if err != nil {
		t.Fatal(err)
	}
	if err := linearizability.Check(h); err != nil {
		return err.Error()
	}
	return h.String()
}

// TestCommand: the command of a history, put into testdata, gives the same history.
func TestCommand(t *testing.T) {
	for _, settings := range pairSettings {
		s := linearizability.Setup{
			Settings: withRelease(settings), Limit: 44*mib + 512, Memory: 64 * mib, Devices: 2, Streams: 1,
			Callback: []string{"x", "y"}, Pauses: linearizability.AllPauses,
		}
		p, err := linearizability.ParseProgram("before: malloc x 20MiB\nA: malloc a 12MiB\nB: malloc y 30MiB; stats device=1")
		if err != nil {
			t.Fatal(err)
		}
		h, err := linearizability.Run(s, p, linearizability.Random{Pick: func(n int) int { return n - 1 }})
		if err != nil {
			t.Fatal(err)
		}
		datadriven.RunTestFromString(t, h.Command()+"\n----\n"+h.String(), func(t *testing.T, d *datadriven.TestData) string {
			c := parseCommand(t, d)
			return c.replay(t)
		})
	}
}

// mib is for setups in tests.
const mib = spec.MiB
