package conformance

import (
	"fmt"
	"strings"
)

// A Campaign is a search of one area: programs one after the other, with a few
// among them that are run with failing driver calls, until enough operations have
// been checked and every label of the area has been met.
type Campaign struct {
	Area *Area
	Options
	Seed   uint64 // of the first program
	Stride uint64 // from one program's seed to the next one's; 0 means 1
	Length int    // operations of a program; 0 means 300

	Operations int // to be checked at least
	Cap        int // to be checked at most while labels are missing; 0 means ten times Operations

	// FaultsEvery: one program in this number is run again with failing driver calls, at
	// most Faults of them. 0 means never.
	FaultsEvery int
	Faults      int

	// Progress, if given, is called with how many operations have been checked so far.
	Progress func(checked int)
	// Stopped, if given, is asked before each program. If it reports true, the campaign
	// ends there.
	Stopped func() bool
}

// Outcome is what came of a campaign.
type Outcome struct {
	Result
	Programs int
	Missing  []Label // that were not met before the cap
}

// String is the outcome in one line.
func (o *Outcome) String() string {
	text := fmt.Sprintf("%d operations in %d programs, %d labels", o.Checked, o.Programs, len(o.Labels))
	if len(o.Missing) > 0 {
		names := make([]string, len(o.Missing))
		for i, l := range o.Missing {
			names[i] = string(l)
		}
		text += "; not met: " + strings.Join(names, ", ")
	}
	return text
}

// faultLength is how long programs are that are run with faults: they are run some
// hundred times.
const faultLength = 60

// Run runs the campaign until it is over or something fails. The failure is not
// minimised.
func (c Campaign) Run() Outcome {
	c.Stride, c.Length = max(c.Stride, 1), orDefault(c.Length, 300)
	o := Outcome{Result: Result{Labels: Coverage{}}}
	for ; o.Failure == nil && c.unfinished(&o); o.Programs++ {
		seed := c.Seed + uint64(o.Programs)*c.Stride
		if c.FaultsEvery > 0 && o.Programs%c.FaultsEvery == c.FaultsEvery-1 {
			o.add(c.Area.RunFaults(seed, faultLength, c.Faults, c.Options))
		} else {
			o.add(c.Area.Run(seed, c.Length, c.Options))
		}
		if c.Progress != nil {
			c.Progress(o.Checked)
		}
	}
	o.Missing = o.Labels.Missing(c.Area.Required())
	return o
}

func (c *Campaign) unfinished(o *Outcome) bool {
	if c.Stopped != nil && c.Stopped() {
		return false
	}
	if o.Checked < c.Operations {
		return true
	}
	return o.Checked < orDefault(c.Cap, 10*c.Operations) && len(o.Labels.Missing(c.Area.Required())) > 0
}

func (o *Outcome) add(r Result) {
	o.Checked += r.Checked
	o.Labels.Add(r.Labels)
	o.Failure = r.Failure
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
