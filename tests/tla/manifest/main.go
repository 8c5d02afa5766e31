// Command manifest runs TLC on the configurations of tla/ and writes the results to
// tla/manifests. "make tla" runs it. It skips a configuration that uses what its manifest says,
// unless the configuration is named.
//
//	go run ./tests/tla/manifest -tools tla2tools.jar [-jobs N] [-upstream] [NAME...]
//
// With -upstream the configurations are those of tla/upstream. With -print it prints what the
// named configurations use, and runs nothing: their canonical forms before and after a change show
// why a manifest is not current.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gaugeblock/internal/checkout"
	"gaugeblock/model/tlc"
	"gaugeblock/tests/tla/runner"
	"gaugeblock/tla"
)

func main() {
	tools := flag.String("tools", "", "the file tla2tools.jar")
	jobs := flag.Int("jobs", 1, "how many configurations to check at a time")
	upstream := flag.Bool("upstream", false, "the configurations of tla/upstream")
	only := flag.Bool("print", false, "print what the configurations use")
	flag.Parse()
	err := error(nil)
	if *only {
		err = printUses(*upstream, flag.Args())
	} else {
		err = run(*tools, *jobs, *upstream, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "manifest:", err)
		os.Exit(1)
	}
}

func run(tools string, jobs int, upstream bool, names []string) error {
	if tools == "" {
		return fmt.Errorf("-tools is missing: where is tla2tools.jar? (make tla TLA2TOOLS=FILE)")
	}
	tools, err := filepath.Abs(tools)
	if err != nil {
		return err
	}
	root, err := checkout.Root()
	if err != nil {
		return err
	}
	f := folder{dir: filepath.Join(root, "tla"), manifests: filepath.Join(root, "tla", "manifests")}
	list, err := configurations(false)
	if upstream {
		scratch, err := os.MkdirTemp("", "upstream")
		if err != nil {
			return err
		}
		defer os.RemoveAll(scratch)
		if f, list, err = inUpstreamsMode(root, scratch); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	chosen, err := f.choose(list, names)
	if err != nil {
		return err
	}
	outcomes := make(chan outcome)
	places := make(chan bool, jobs)
	for _, c := range chosen {
		go func() {
			places <- true
			outcomes <- f.makeManifest(tools, c)
			<-places
		}()
	}
	var failures []error
	for range chosen {
		o := <-outcomes
		fmt.Println(o.line)
		failures = append(failures, o.err)
	}
	return errors.Join(failures...)
}

// folder is where the texts are that TLC reads, and where the manifests go.
type folder struct {
	dir, manifests string
	upstream       bool
}

// inUpstreamsMode is a folder with the texts of tla/ and of tla/upstream/, and the configurations
// of the latter.
func inUpstreamsMode(root, scratch string) (folder, []tla.Configuration, error) {
	dir := filepath.Join(root, "tla")
	f := folder{dir: scratch, manifests: filepath.Join(dir, "upstream", "manifests"), upstream: true}
	for _, from := range []string{dir, filepath.Join(dir, "upstream")} {
		if err := runner.CopyFiles(filepath.Join(from, "*.*"), scratch); err != nil {
			return f, nil, err
		}
	}
	list, err := configurations(true)
	return f, list, err
}

func configurations(upstream bool) (list []tla.Configuration, err error) {
	if !upstream {
		return tla.Configurations()
	}
	all, err := tla.UpstreamConfigurations()
	for _, c := range all {
		list = append(list, c.Configuration)
	}
	return list, err
}

func printUses(upstream bool, names []string) error {
	list, err := configurations(upstream)
	if err != nil {
		return err
	}
	chosen, unknown := tla.Named(list, names)
	if unknown != "" {
		return fmt.Errorf("there is no configuration %q", unknown)
	}
	for _, c := range chosen {
		text, err := tla.Canonical(c, tla.Reader(upstream))
		if err != nil {
			return err
		}
		fmt.Print(text)
	}
	return nil
}

// isCurrent reports whether a configuration has a manifest of what it uses.
func (f folder) isCurrent(c tla.Configuration) (bool, error) {
	read := tla.ReadManifest
	if f.upstream {
		read = tla.ReadUpstreamManifest
	}
	m, err := read(c.Name)
	return err == nil && m != nil && m.CheckUses(c, f.upstream) == nil, err
}

// choose is the named configurations, or those whose manifests are not current.
func (f folder) choose(list []tla.Configuration, names []string) (chosen []tla.Configuration, err error) {
	if len(names) > 0 {
		chosen, unknown := tla.Named(list, names)
		if unknown != "" {
			return nil, fmt.Errorf("there is no configuration %q", unknown)
		}
		return chosen, nil
	}
	for _, c := range list {
		current, err := f.isCurrent(c)
		if err != nil {
			return nil, err
		}
		if !current {
			chosen = append(chosen, c)
		}
	}
	return chosen, nil
}

// outcome is the result for a configuration.
type outcome struct {
	line string
	err  error
}

func (f folder) makeManifest(tools string, c tla.Configuration) outcome {
	started := time.Now()
	m, processor, err := check(tools, f.dir, c, f.upstream)
	if err == nil {
		err = write(m, filepath.Join(f.manifests, c.Name+".json"))
	}
	if err != nil {
		return outcome{c.Name + ": failed", fmt.Errorf("%s: %w", c.Name, err)}
	}
	seconds := time.Since(started).Seconds()
	return outcome{line: fmt.Sprintf("%-24s %-28s %8d states %9d edges %8.1f s, TLC %8.1f s of processor time",
		c.Name, m.Verdict, m.States, m.Edges, seconds, processor.Seconds())}
}

// check runs TLC. If no property should fail it dumps the graph. In upstream's mode it
// keeps the labels of a counterexample.
func check(tools, dir string, c tla.Configuration, upstream bool) (m *tla.Manifest, processor time.Duration, err error) {
	scratch, err := os.MkdirTemp("", "manifest")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(scratch)
	if err := checkConstants(filepath.Join(dir, c.Cfg)); err != nil {
		return nil, 0, err
	}
	var dumps []string
	dump := filepath.Join(scratch, "graph.dot")
	if c.Expect == "ok" {
		dumps = []string{"-dump", "dot,actionlabels", dump}
	}
	summary, processor, err := runner.TLC{Tools: tools, Dir: dir, Scratch: scratch}.Check(c.Cfg, c.Module, dumps...)
	if err != nil {
		return nil, 0, err
	}
	m = &tla.Manifest{Name: c.Name, Verdict: summary.Verdict, Trace: summary.Trace, Summary: summary.Lines}
	if upstream {
		m.Steps = summary.Labels
	}
	if m.Uses, err = tla.Uses(c, upstream); err != nil {
		return nil, 0, err
	}
	if m.Verdict != "ok" || c.Expect != "ok" {
		return m, processor, nil
	}
	return m, processor, addGraph(m, dump, summary)
}

// checkConstants is an error if a configuration gives a value to a name that is no constant,
// which TLC would ignore.
func checkConstants(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	_, err = tla.ReadConfig(text, filepath.Base(file))
	return err
}

// addGraph adds the counts and digests of the dump, and compares them with TLC's counts.
func addGraph(m *tla.Manifest, dump string, summary tlc.Summary) error {
	file, err := os.Open(dump)
	if err != nil {
		return err
	}
	defer file.Close()
	graph, err := tlc.ReadDump(file, dump)
	if err != nil {
		return err
	}
	if graph.States != summary.States {
		return fmt.Errorf("TLC counts %d states and dumps %d", summary.States, graph.States)
	}
	m.States, m.Edges = graph.States, graph.Edges
	m.StateDigest, m.EdgeDigest = graph.StateDigest, graph.EdgeDigest
	m.Generated, m.Depth = summary.Generated, summary.Depth
	return nil
}

func write(m *tla.Manifest, file string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
