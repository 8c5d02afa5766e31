package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dustin/go-humanize"

	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
)

// resources are what an exploration may use. Some memory is left for what the garbage
// collector has not freed yet.
func (c *exploreCommand) resources(name string, check *bounded.Check, options explore.Options[*bounded.State]) explore.Resources {
	r := explore.Resources{MaxMemory: uint64(c.MaxMemory) / 8 * 7}
	if c.Dir != "" {
		r.Dir, r.Every = filepath.Join(c.Dir, name), c.Checkpoint
		r.Identity = c.identity(name, check, options)
	}
	return r
}

// probeStates is how many states are explored to recognise a model.
const probeStates = 1000

// identity says what is explored: the bounds, and a hash of the properties and of the first
// states and edges, which would be others if the model were another.
func (c *exploreCommand) identity(name string, check *bounded.Check, options explore.Options[*bounded.State]) string {
	states := 0
	r := explore.Explore(check.Module, explore.Options[*bounded.State]{
		Workers: 1, Compact: true, Symmetry: options.Symmetry,
		Progress: func(r explore.Result[*bounded.State]) { states = r.States },
		Stopped:  func() bool { return states >= probeStates },
	})
	what := strings.Join(append([]string{name}, c.Set...), " ")
	if c.Symmetry {
		what += " with symmetry"
	}
	hash := sha256.Sum256(fmt.Appendln(nil, check.Options.Checked(), r.States, r.Edges, r.StateSum, r.EdgeSum))
	return fmt.Sprintf("%s (%x)", what, hash[:6])
}

// explain adds to an error what can be done about it, and the status that it ends with.
func (c *exploreCommand) explain(name string, err error) error {
	var limit *explore.LimitError
	isLimit := errors.As(err, &limit)
	if !isLimit && !isDiskFull(err) {
		return fmt.Errorf("%s: %w", name, err)
	}
	advice := "--dir keeps the states on a disk"
	if c.Dir != "" {
		advice = fmt.Sprintf("the same command goes on from the last checkpoint in %s", c.Dir)
	}
	if isLimit && c.MaxMemory > 0 {
		err = fmt.Errorf("after %s states --max-memory=%s is not enough", humanize.Comma(int64(limit.States)), humanize.IBytes(uint64(c.MaxMemory)))
		advice += " with more"
	}
	return &exhaustedError{fmt.Sprintf("%s: %v; %s", name, err, advice)}
}

// isDiskFull reports whether a file could not grow: the disk is full, or a quota or the limit of
// the process is reached.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// exhaustedError says that the memory or the disk did not suffice.
type exhaustedError struct{ text string }

func (e *exhaustedError) Error() string { return e.text }
