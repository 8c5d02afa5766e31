package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"gaugeblock/snapshot"
	memoryreport "gaugeblock/snapshot/report"
	"gaugeblock/snapshot/whatif"
	"gaugeblock/spec"
)

// reportCommand is "gaugeblock report".
type reportCommand struct {
	Snapshot string    `arg:"" help:"A file from torch.cuda.memory._dump_snapshot (also gzipped, or as JSON), or - for standard input."`
	Out      string    `short:"o" name:"out" required:"" placeholder:"FILE" help:"Write the page to this file, or - for standard output."`
	Limit    byteLimit `name:"limit" placeholder:"BYTES" help:"Compare other settings under this limit: bytes, 4420MiB, 40GiB, or none. Without it, the limit that the recorded run reached, if it reached one."`
	WhatIf   bool      `name:"whatif" default:"true" negatable:"" help:"Compare other settings; --no-whatif leaves them out (default: compare)."`
	Device   int       `name:"device" default:"-1" placeholder:"N" help:"Show this device (default: the one that ran out of memory, or else the one with the longest history)."`
}

// Help is what "gaugeblock report --help" prints beside the flags.
func (*reportCommand) Help() string {
	return `The page is one HTML file that loads nothing: allocated and reserved memory over
time, the segments and blocks at the peak and at the end, which code allocated the
blocks that keep segments from being freed, the sizes of requests, and a comparison of
other settings. docs/report.md explains it.

The exit status is 0 if the page was written, and 2 if the input or the command
line made no sense.`
}

// Validate is called by kong.
func (c *reportCommand) Validate() error {
	if c.Out == "" {
		return errors.New("--out names no file")
	}
	return validateDevice(c.Device)
}

// validateDevice refuses a device that cannot exist. -1 stands for no flag.
func validateDevice(device int) error {
	if device < -1 {
		return fmt.Errorf("--device=%d is negative", device)
	}
	return nil
}

// Run reads the snapshot and writes the page.
func (c *reportCommand) Run(env *environment) error {
	file, name, err := env.openSnapshot(c.Snapshot)
	if err != nil {
		return err
	}
	options := memoryreport.Options{Source: filepath.Base(name), Device: chooseDevice(file, c.Device)}
	if c.WhatIf {
		if options.Comparison, options.Notes, err = c.compare(env, file, options.Device); err != nil {
			return err
		}
	}
	data, err := memoryreport.Build(file, options)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if c.Out == "-" {
		return memoryreport.Write(env.stdout, data)
	}
	return memoryreport.WriteFile(c.Out, data)
}

// compare compares other settings. Without history there is a page all the same.
func (c *reportCommand) compare(env *environment, file *snapshot.File, device spec.Device) (*whatif.Comparison, []string, error) {
	workload, err := whatif.FromSnapshot(file, device)
	var none *whatif.WorkloadError
	if errors.As(err, &none) {
		return nil, nil, nil // the page has a note
	}
	if err != nil {
		return nil, nil, err
	}
	options := whatif.Options{Limit: c.Limit.bytes, AsRecorded: !c.Limit.given}
	comparison, err := env.compare(workload, options, false)
	if err != nil {
		return nil, nil, err
	}
	return comparison, []string{comparison.LimitNote()}, nil
}
