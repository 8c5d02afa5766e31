package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
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
	Limit    byteLimit `name:"limit" placeholder:"BYTES" help:"Try other settings under this limit: bytes, 4420MiB, 40GiB, or none. Without it, the limit that the recorded run met, if it met one."`
	WhatIf   bool      `name:"whatif" default:"true" negatable:"" help:"Try other settings; --no-whatif leaves them out (default: try)."`
	Device   int       `name:"device" default:"-1" placeholder:"N" help:"Look at this device (default: the one that ran out of memory, or else did most)."`
}

// Help is what "gaugeblock report --help" says beside the flags.
func (*reportCommand) Help() string {
	return `The page is one HTML file that loads nothing: memory over time, what lies where at
the peak and at the end, what keeps segments from being returned, the sizes of
requests, and what other settings would have done. docs/report.md explains it.

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

// validateDevice refuses a device that cannot be. -1 is what no flag stands for.
func validateDevice(device int) error {
	if device < -1 {
		return fmt.Errorf("--device=%d is negative", device)
	}
	return nil
}

// Run reads the snapshot and writes the page.
func (c *reportCommand) Run(env *environment) error {
	file, name, err := openSnapshot(c.Snapshot, env.stdin)
	if err != nil {
		return err
	}
	options := memoryreport.Options{Source: filepath.Base(name), Device: whatif.ChooseDevice(file)}
	if c.Device >= 0 {
		options.Device = spec.Device(c.Device)
	}
	if c.WhatIf {
		if options.Study, options.Notes, err = c.study(env, file, options.Device); err != nil {
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
	return writeWhole(c.Out, func(w io.Writer) error { return memoryreport.Write(w, data) })
}

// study tries other settings. A snapshot without history is drawn all the same.
func (c *reportCommand) study(env *environment, file *snapshot.File, device spec.Device) (*whatif.Study, []string, error) {
	history, err := whatif.Rebuild(file, device)
	var none *whatif.HistoryError
	if errors.As(err, &none) {
		return nil, nil, nil // the page says so itself
	}
	if err != nil {
		return nil, nil, err
	}
	var notes []string
	limit := c.Limit.bytes
	if !c.Limit.given && history.Limit.Refused() {
		limit = history.Limit.Least
		notes = append(notes, limitNote(history.Limit))
	}
	progress := newProgress(env.stderr, math.MaxInt, false)
	progress.counting = "%d of %d runs"
	study, err := whatif.Try(history, whatif.Options{
		Limit: limit,
		Progress: func(done, total int) {
			progress.total = total
			progress.set(done)
		},
	})
	progress.set(progress.total)
	progress.finish()
	return study, notes, err
}

// openSnapshot reads a snapshot, and says what messages call it.
func openSnapshot(path string, stdin io.Reader) (*snapshot.File, string, error) {
	if path == "-" {
		file, err := snapshot.Read(stdin, "stdin")
		return file, "stdin", err
	}
	file, err := snapshot.Open(path)
	return file, path, err
}

// writeWhole writes a file whole or not at all. What is there and is no file, such as
// /dev/null or a pipe, is written to and not replaced.
func writeWhole(path string, write func(io.Writer) error) error {
	if there, err := os.Stat(path); err == nil && !there.Mode().IsRegular() {
		return writeInto(path, write)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the link stays
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return notWritten(path, err)
	}
	buffered := bufio.NewWriter(file)
	err = cmp.Or(write(buffered), buffered.Flush(), file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		os.Remove(file.Name())
		return notWritten(path, err)
	}
	return nil
}

// notWritten names the place that was meant, and not the file beside it.
func notWritten(path string, err error) error {
	var beside *fs.PathError
	if errors.As(err, &beside) {
		err = beside.Err
	}
	return fmt.Errorf("%s cannot be written: %w", path, err)
}

// writeInto writes to what is there already.
func writeInto(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return cmp.Or(write(file), file.Close())
}
