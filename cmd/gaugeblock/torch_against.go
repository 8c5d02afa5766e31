package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/dustin/go-humanize/english"

	"gaugeblock/tools/torch"
)

// runAgainst is "gaugeblock torch --against".
func (c *compareCommand) runAgainst(env *environment, work string) error {
	run := torch.Against{
		Areas: c.Area, Settings: c.Settings, Operations: c.Ops, Seed: c.Seed, Workers: c.Jobs, Directory: c.Out,
	}
	for i, where := range c.Builds {
		var err error
		if run.Builds[i], err = torch.Find(where, filepath.Join(work, fmt.Sprint(i))); err == nil {
			err = buildTorch(run.Builds[i])
		}
		if err != nil {
			return err
		}
	}
	bar := newProgress(env.stderr, c.Ops, c.JSON)
	bar.counting = "%d of %d operations"
	run.Progress = bar.set
	report, err := run.Run()
	bar.finish()
	if err != nil {
		return err
	}
	return c.tellAgainst(env, &report)
}

// tellAgainst prints what came of two builds.
func (c *compareCommand) tellAgainst(env *environment, report *torch.AgainstReport) error {
	if len(report.Causes) > 0 {
		env.status = statusDiffers
	}
	if c.JSON {
		return json.NewEncoder(env.stdout).Encode(report)
	}
	return printAgainst(env.stdout, report)
}

// printAgainst writes a report for people.
func printAgainst(w io.Writer, r *torch.AgainstReport) error {
	var b strings.Builder
	for i, cause := range r.Causes {
		fmt.Fprintf(&b, "%d. %s\n   in %s, first after %.1f s (area %s, seed %d)", i+1, cause.What, english.Plural(cause.Programs, "program", ""), cause.Seconds, cause.Area, cause.Seed)
		if cause.Trace != "" {
			fmt.Fprintf(&b, ", written to %s", cause.Trace)
		}
		if cause.Cplusplus != "" {
			fmt.Fprintf(&b, " and, in C++, %s", cause.Cplusplus)
		}
		fmt.Fprintln(&b)
		if cause.Settings != "" {
			fmt.Fprintf(&b, "     settings %s\n", cause.Settings)
		}
		for _, line := range cause.Program {
			fmt.Fprintf(&b, "     %s\n", line)
		}
	}
	fmt.Fprintf(&b, "PyTorch %s against %s, %.0f s\n%v\n", r.Builds[1], r.Builds[0], r.Seconds, r)
	_, err := io.WriteString(w, b.String())
	return err
}
