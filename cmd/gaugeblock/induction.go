package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"gaugeblock/model/induction"
	"gaugeblock/tla"
)

// runInduction is "gaugeblock explore --induction".
func (c *exploreCommand) runInduction(env *environment) error {
	stopped, end := interruptible()
	defer end()
	out := &checkedWriter{to: env.stdout}
	workers := c.Workers
	if workers == 0 {
		workers = runtime.NumCPU()
	}
	fmt.Fprintf(out, "goals: %s\nlemmas: %s\n", strings.Join(induction.Goals(), ", "), strings.Join(induction.Lemmas(), ", "))
	for _, b := range induction.AllBounds() {
		if !b.Small && !c.Large {
			continue
		}
		u, err := b.Universe(tla.ReadConfig)
		if err != nil {
			return err
		}
		started := time.Now()
		r := u.Check(workers, stopped)
		printInduction(out, b, r, time.Since(started))
		switch {
		case r.Step != nil:
			env.status = statusDiffers
		case r.Stopped:
			env.status = statusInterrupted
			return out.err
		}
	}
	return out.err
}

func printInduction(out io.Writer, b induction.Bounds, r induction.Result, took time.Duration) {
	verdict := "inductive"
	switch {
	case r.Step != nil:
		verdict = "not inductive"
	case r.Stopped:
		verdict = "stopped before the end, nothing broken so far"
	}
	fmt.Fprintf(out, "%s (%s): %s; %s states, %s steps in %.1f s\n", b.Name, b.Words, verdict,
		humanize.Comma(int64(r.States)), humanize.Comma(int64(r.Steps)), took.Seconds())
	if r.Step != nil {
		fmt.Fprintln(out, r.Step)
	}
}
