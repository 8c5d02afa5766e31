package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"gaugeblock/conformance"
	"gaugeblock/internal/quote"
	"gaugeblock/model/explore"
	"gaugeblock/tools/torch"
)

// mergeCommand is "gaugeblock merge".
type mergeCommand struct {
	Results []string `arg:"" name:"file" help:"What the parts have printed with --json, or - for standard input."`
}

// Help is what "gaugeblock merge --help" prints beside the flags.
func (*mergeCommand) Help() string {
	return `The parts of a large run each print a result in JSON: gaugeblock soak, gaugeblock torch,
gaugeblock explore. This adds them up and prints the result of the whole run, in JSON:
one line for each explored configuration, one for soak, one for torch. Lines that are
not JSON are skipped. All shards of an exploration must be there, each once. See
docs/campaigns.md.

The exit status is 0 when no part found anything, 1 when one did, 2 when a result cannot
be read or is missing, 130 when a part was ended early.`
}

// Run reads the results and adds them up.
func (c *mergeCommand) Run(env *environment) error {
	var all merger
	for _, name := range c.Results {
		if err := all.readFile(env.stdin, name); err != nil {
			return fmt.Errorf("%s: %w", quote.Text(name), err)
		}
	}
	if err := all.check(); err != nil {
		return err
	}
	out := &checkedWriter{to: env.stdout}
	for _, parts := range all.explored {
		whole := mergeExplored(parts)
		printJSON(out, &whole)
		env.note(whole.Violation != "", whole.Stopped && whole.Violation == "")
	}
	if s := all.soaked; s != nil {
		printJSON(out, s)
		env.note(s.Violations > 0, s.Stopped)
	}
	if r := all.compared; r != nil {
		printJSON(out, r)
		env.note(len(r.Unexplained) > 0, false)
	}
	return out.err
}

// note sets the status for a result, unless it is that of a worse one.
func (env *environment) note(differs, stopped bool) {
	if differs {
		env.status = statusDiffers
	} else if stopped && env.status == statusExact {
		env.status = statusInterrupted
	}
}

// merger has the results that were read.
type merger struct {
	explored [][]explored // the shards of each exploration
	soaked   *soakSummary
	compared *torch.Report
}

// longestResult is the longest line that is read, in bytes.
const longestResult = 16 << 20

// readFile reads the results in a file.
func (m *merger) readFile(stdin io.Reader, name string) error {
	in := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestResult)
	number, found := 0, false
	for lines.Scan() {
		number++
		line := bytes.TrimSpace(lines.Bytes())
		if !bytes.HasPrefix(line, []byte("{")) {
			continue
		}
		found = true
		if err := m.read(line); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("line %d: longer than %d bytes", number+1, longestResult)
	case err != nil:
		return err
	case !found:
		return errors.New("there is no result")
	}
	return nil
}

// read reads a result, which is one of three kinds.
func (m *merger) read(line []byte) error {
	var e explored
	var s soakSummary
	var r torch.Report
	switch {
	case strictly(line, &e) == nil && e.Config != "":
		m.addExplored(e)
	case strictly(line, &s) == nil && s.Labels != nil:
		m.addSoak(s)
	case strictly(line, &r) == nil && r.Programs > 0:
		return m.addTorch(r)
	default:
		return errors.New("is no result of explore, soak or torch")
	}
	return nil
}

func strictly(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func (m *merger) addExplored(e explored) {
	same := func(parts []explored) bool {
		first := parts[0]
		return first.Config == e.Config && slices.Equal(first.Set, e.Set) && first.Symmetry == e.Symmetry
	}
	at := slices.IndexFunc(m.explored, same)
	if at < 0 {
		at = len(m.explored)
		m.explored = append(m.explored, nil)
	}
	m.explored[at] = append(m.explored[at], e)
}

func (m *merger) addSoak(s soakSummary) {
	if m.soaked == nil {
		m.soaked = &soakSummary{Labels: conformance.Coverage{}}
	}
	all := m.soaked
	all.Operations += s.Operations
	all.Violations += s.Violations
	all.Labels.Add(s.Labels)
	all.Seconds += s.Seconds
	all.NextSeed = max(all.NextSeed, s.NextSeed)
	all.Stopped = all.Stopped || s.Stopped
	all.Counterexamples = append(all.Counterexamples, s.Counterexamples...)
}

func (m *merger) addTorch(r torch.Report) error {
	if m.compared == nil {
		m.compared = &torch.Report{PyTorch: r.PyTorch, Listed: map[string]int{}}
	}
	all := m.compared
	if all.PyTorch != r.PyTorch {
		return fmt.Errorf("compares with PyTorch %s, an earlier result with %s", r.PyTorch, all.PyTorch)
	}
	all.Operations += r.Operations
	all.Programs += r.Programs
	all.Seconds += r.Seconds
	all.CPUSeconds += r.CPUSeconds
	for _, row := range slices.Sorted(maps.Keys(r.Listed)) {
		all.Listed[row] += r.Listed[row]
	}
	all.Unexplained = append(all.Unexplained, r.Unexplained...)
	return nil
}

// check tests that each exploration has all its shards, of the same properties.
func (m *merger) check() error {
	for _, parts := range m.explored {
		slices.SortStableFunc(parts, func(a, b explored) int { return a.shard().Index - b.shard().Index })
		name := strings.Join(append([]string{parts[0].Config}, parts[0].Set...), " ")
		of := parts[0].shard().Of
		for i, p := range parts {
			if p.shard() != (explore.Shard{Index: i + 1, Of: of}) {
				return fmt.Errorf("%s: there is %s where shard %d of %d should be", name, p.what(), i+1, of)
			}
			if !reflect.DeepEqual(p.Checked, parts[0].Checked) {
				return fmt.Errorf("%s: the shards have checked different properties", name)
			}
		}
		if len(parts) != of {
			return fmt.Errorf("%s: shard %d of %d is missing", name, len(parts)+1, of)
		}
	}
	return nil
}

// what says which part a result is.
func (e explored) what() string {
	s := e.shard()
	return fmt.Sprintf("shard %d of %d", s.Index, s.Of)
}

// shard is the part that was explored; the whole is 1/1.
func (e explored) shard() explore.Shard {
	var s shard
	if e.Shard == "" || s.UnmarshalText([]byte(e.Shard)) != nil {
		return explore.Shard{Index: 1, Of: 1}
	}
	return explore.Shard{Index: int(s.index), Of: int(s.of)}
}

// mergeExplored adds up the shards of an exploration.
func mergeExplored(parts []explored) explored {
	whole := parts[0]
	whole.Shard = ""
	for _, p := range parts[1:] {
		whole.States += p.States
		whole.Edges += p.Edges
		whole.Generated += p.Generated
		whole.Depth = max(whole.Depth, p.Depth)
		whole.StateSum, whole.EdgeSum = whole.StateSum.Add(p.StateSum), whole.EdgeSum.Add(p.EdgeSum)
		whole.Seconds = max(whole.Seconds, p.Seconds)
		whole.OK, whole.Stopped = whole.OK && p.OK, whole.Stopped || p.Stopped
		if whole.Violation == "" {
			whole.Violation = p.Violation
		}
	}
	if whole.Collision > 0 {
		whole.Collision = explore.CollisionProbability(whole.States)
	}
	return whole
}
