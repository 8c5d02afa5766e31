// Command random draws configurations of the specification that nobody has chosen, and compares
// TLC's graph of each with the explorer's: number of states, edges and depth, and the digests of
// states and edges. All properties that hold at all bounds must hold too.
//
//	go run ./tests/tla/random -tools tla2tools.jar [-n 20] [-seed 1] [-states 3000]
//
// The same seed draws the same configurations. One with fewer than 40 states, or with more than
// -states, is drawn again. The exit status is 1 if two graphs differ or a property fails; the
// configuration is printed then.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gaugeblock/internal/checkout"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
	"gaugeblock/tests/tla/runner"
	"gaugeblock/tla"
)

const leastStates = 40

func main() {
	tools := flag.String("tools", "", "the file tla2tools.jar")
	n := flag.Int("n", 20, "how many configurations are drawn")
	seed := flag.Uint64("seed", 1, "of the first configuration; each has the next one")
	most := flag.Int("states", 3000, "the most states of a configuration")
	flag.Parse()
	wrong, err := run(*tools, *n, *seed, *most)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "random:", err)
		os.Exit(2)
	case wrong > 0:
		fmt.Printf("%d of %d differ\n", wrong, *n)
		os.Exit(1)
	}
	fmt.Printf("%d configurations, all equal\n", *n)
}

func run(tools string, n int, seed uint64, most int) (wrong int, err error) {
	if tools == "" {
		return 0, fmt.Errorf("-tools is missing: where is tla2tools.jar?")
	}
	if tools, err = filepath.Abs(tools); err != nil {
		return 0, err
	}
	root, err := checkout.Root()
	if err != nil {
		return 0, err
	}
	for i := range uint64(n) {
		started := time.Now()
		c, err := drawSmall(rand.New(rand.NewPCG(seed+i, 0)), most)
		if err != nil {
			return wrong, fmt.Errorf("seed %d: %w", seed+i, err)
		}
		verdict, err := c.compare(tools, filepath.Join(root, "tla"))
		if err != nil {
			return wrong, fmt.Errorf("seed %d: %w\n%s", seed+i, err, c.text)
		}
		fmt.Printf("seed %d: MC%s %s: %d states, %d edges: %s (%.1f s)\n",
			seed+i, c.module, c.constants(), c.model.States, c.model.Edges, verdict, time.Since(started).Seconds())
		if verdict != equal {
			wrong++
			fmt.Println(c.text)
		}
	}
	return wrong, nil
}

// A candidate is a configuration that was drawn.
type candidate struct {
	drawn
	text  string // of the configuration file
	model explore.Result[*bounded.State]
}

// drawSmall draws until a configuration has as many states as it should.
func drawSmall(r *rand.Rand, most int) (*candidate, error) {
	for {
		c := &candidate{drawn: draw(r)}
		c.text = c.file()
		cfg, err := tla.ReadConfig([]byte(c.text), "random.cfg")
		if err != nil {
			return nil, err
		}
		check, err := bounded.NewCheck(c.mirror, cfg)
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, c.text)
		}
		check.CheckAlways()
		check.Options.Text, check.Options.Workers = check.Module.Text, 1
		states := 0
		check.Options.Progress = func(r explore.Result[*bounded.State]) { states = r.States }
		check.Options.Stopped = func() bool { return states > most }
		if c.model = explore.Explore(check.Module, check.Options); !c.model.Stopped && c.model.States <= most &&
			(c.model.States >= leastStates || c.model.Violation != nil) {
			return c, nil
		}
	}
}

const equal = "equal"

// compare runs TLC on a copy of the specification, and says whether the two graphs are equal.
func (c *candidate) compare(tools, dir string) (verdict string, err error) {
	if c.model.Violation != nil {
		return "the model breaks " + c.model.Violation.Property, nil
	}
	scratch, err := os.MkdirTemp("", "random")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	if err := runner.CopyFiles(filepath.Join(dir, "*.tla"), scratch); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(scratch, "random.cfg"), []byte(c.text), 0o644); err != nil {
		return "", err
	}
	dump := filepath.Join(scratch, "graph.dot")
	summary, _, err := runner.TLC{Tools: tools, Dir: scratch, Scratch: scratch}.Check("random.cfg", "MC"+c.module, "-dump", "dot,actionlabels", dump)
	if err != nil {
		return "", err
	}
	if summary.Verdict != "ok" {
		return "TLC says " + summary.Verdict, nil
	}
	file, err := os.Open(dump)
	if err != nil {
		return "", err
	}
	defer file.Close()
	graph, err := tlc.ReadDump(file, dump)
	if err != nil {
		return "", err
	}
	m := c.model
	if graph.States != m.States || graph.Edges != m.Edges || summary.Depth != m.Depth || summary.Generated != m.Generated {
		return fmt.Sprintf("TLC has %d states, %d edges, depth %d", graph.States, graph.Edges, summary.Depth), nil
	}
	if graph.StateDigest != m.StateDigest || graph.EdgeDigest != m.EdgeDigest {
		return "as many states and edges, but others", nil
	}
	return equal, nil
}

// constants are the constants in one line.
func (d *drawn) constants() string { return strings.Join(d.values, ", ") }
