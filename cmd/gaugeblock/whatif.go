package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/text"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/whatif"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// whatifCommand is "gaugeblock whatif".
type whatifCommand struct {
	File     string    `arg:"" help:"A file from torch.cuda.memory._dump_snapshot (also gzipped, or as JSON), - for standard input, or a recorded trace (*.jsonl, *.jsonl.gz)."`
	Settings []string  `name:"settings" sep:"none" placeholder:"TEXT" help:"Compare these settings (PYTORCH_ALLOC_CONF) instead of the usual ones; may be given several times. Empty means the default."`
	Limit    byteLimit `name:"limit" placeholder:"BYTES" help:"Compare under this limit: bytes, 4420MiB, 39.5GiB, or none. Without it, the limit that the recorded run reached, if it reached one."`
	Search   bool      `name:"search" help:"Find the smallest limit without out of memory, for each of the settings."`
	JSON     bool      `name:"json" help:"Print the predictions as JSON, and nothing else."`
	Device   int       `name:"device" default:"-1" placeholder:"N" help:"Use the history of this device (default: the one that ran out of memory, or else the one with the longest history)."`
	Jobs     int       `short:"j" placeholder:"N" help:"Make N runs at a time (default: as many as there are processors)."`
}

// Help is what "gaugeblock whatif --help" prints beside the flags.
func (*whatifCommand) Help() string {
	return `The requests of the program are read from the history of the snapshot, or from a trace
that "gaugeblock record" made. They are repeated on a fake GPU under other settings.
The table has the best settings first. A statistic with ~ before it is not exact, and
the last lines say why. docs/whatif.md explains it.

The snapshot needs its history:

    torch.cuda.memory._record_memory_history(max_entries=2_000_000)
    ...
    torch.cuda.memory._dump_snapshot("snapshot.pickle")

The exit status is 0 if settings could be compared, whatever the result, and 2 if the
input or the command line made no sense.`
}

// byteLimit is a limit in bytes on the command line.
type byteLimit struct {
	given bool
	bytes uint64 // 0: none
}

// UnmarshalText reads "none", "4420MiB", "39.5GiB" or a number of bytes.
func (l *byteLimit) UnmarshalText(word []byte) error {
	l.given = true
	if string(word) == "none" {
		return nil
	}
	n, err := humanize.ParseBytes(string(word))
	if err != nil || n == 0 || n > whatif.LargestLimit {
		return fmt.Errorf("%q is not a limit: give bytes (less than 1 TiB), 4420MiB, 39.5GiB or none", word)
	}
	l.bytes = n
	return nil
}

// orAssumed is the limit, or without a flag the one that is assumed, with a note.
func (l *byteLimit) orAssumed(w *whatif.Workload) (limit uint64, notes []string) {
	if l.given {
		return l.bytes, nil
	}
	limit, note := w.AssumedLimit()
	if note != "" {
		notes = []string{note + " --limit sets another."}
	}
	return limit, notes
}

// Validate is called by kong.
func (c *whatifCommand) Validate() error {
	if c.Jobs < 0 {
		return fmt.Errorf("--jobs=%d is negative", c.Jobs)
	}
	for _, s := range c.Settings {
		if err := whatif.CheckSettings(s); err != nil {
			return fmt.Errorf("--settings: %w", err)
		}
	}
	return validateDevice(c.Device)
}

// Run reads the file, compares the settings, and prints the predictions.
func (c *whatifCommand) Run(env *environment) error {
	workload, notes, err := c.workload(env)
	if err != nil {
		return err
	}
	limit, limitNotes := c.Limit.orAssumed(workload)
	comparison, err := env.compare(workload, whatif.Options{
		Settings: c.Settings, Limit: limit, SearchLimit: c.Search, Jobs: c.Jobs,
	}, c.JSON)
	if err != nil {
		return err
	}
	out := &checkedWriter{to: env.stdout}
	if c.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		encoder.Encode(comparison.Ranked()) // the writer remembers its error
		return out.err
	}
	c.print(out, comparison, append(notes, limitNotes...))
	return out.err
}

// compare compares settings, with a progress bar.
func (e *environment) compare(w *whatif.Workload, o whatif.Options, forPrograms bool) (*whatif.Comparison, error) {
	progress := newProgress(e.stderr, math.MaxInt, forPrograms)
	progress.counting = "%d of %d runs"
	o.Progress = func(done, total int) {
		progress.total = total
		progress.set(done)
	}
	comparison, err := whatif.Compare(w, o)
	progress.set(progress.total)
	progress.finish()
	return comparison, err
}

// workload reads the file. The notes describe it.
func (c *whatifCommand) workload(env *environment) (*whatif.Workload, []string, error) {
	if strings.HasSuffix(c.File, ".jsonl") || strings.HasSuffix(c.File, ".jsonl.gz") {
		return c.fromTrace()
	}
	file, name, err := env.openSnapshot(c.File)
	if err != nil {
		return nil, nil, err
	}
	histories := 0
	for _, trace := range file.DeviceTraces {
		if len(trace) > 0 {
			histories++
		}
	}
	workload, err := whatif.FromSnapshot(file, chooseDevice(file, c.Device))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	notes := []string{workload.Summary()}
	if histories > 1 {
		notes = append(notes, fmt.Sprintf("%d devices have a history; --device chooses another one.", histories))
	}
	return workload, notes, nil
}

// openSnapshot reads a snapshot, and returns its name in messages.
func (e *environment) openSnapshot(path string) (*snapshot.File, string, error) {
	if path == "-" {
		file, err := snapshot.Read(e.stdin, "stdin")
		return file, "stdin", err
	}
	file, err := snapshot.Open(path)
	return file, path, err
}

// chooseDevice is the device of the flag, or without one that of whatif.ChooseDevice.
func chooseDevice(file *snapshot.File, flag int) spec.Device {
	if flag >= 0 {
		return spec.Device(flag)
	}
	return whatif.ChooseDevice(file)
}

// fromTrace reads a recorded trace.
func (c *whatifCommand) fromTrace() (*whatif.Workload, []string, error) {
	tr, err := trace.Open(c.File)
	if err != nil {
		return nil, nil, err
	}
	defer tr.Close()
	workload, err := whatif.FromTrace(tr, spec.Device(max(c.Device, 0)))
	var format *trace.Error
	switch {
	case errors.As(err, &format):
		return nil, nil, err
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", c.File, err)
	}
	return workload, []string{workload.Summary()}, nil
}

func (c *whatifCommand) print(out io.Writer, comparison *whatif.Comparison, notes []string) {
	for _, note := range notes {
		fmt.Fprintln(out, note)
	}
	limit := "none"
	if comparison.Limit > 0 {
		limit = fmt.Sprintf("%d bytes (%s)", comparison.Limit, spec.FormatSize(comparison.Limit))
	}
	fmt.Fprintf(out, "Limit: %s.\n\n%s\n\n%s\n", limit, comparison.Table(), paragraph(comparison.Advice()))
	if export := comparison.Export(); export != "" {
		fmt.Fprintf(out, "\n    %s\n", export)
	}
}

// paragraph breaks a text into lines.
func paragraph(sentences string) string {
	var lines []string
	for line := range strings.Lines(text.WrapSoft(sentences, 100)) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n")
}
