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

	"gaugeblock/snapshot/whatif"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// whatifCommand is "gaugeblock whatif".
type whatifCommand struct {
	File     string    `arg:"" help:"A file from torch.cuda.memory._dump_snapshot (also gzipped, or as JSON), - for standard input, or a recorded trace (*.jsonl, *.jsonl.gz)."`
	Settings []string  `name:"settings" sep:"none" placeholder:"TEXT" help:"Try these settings (PYTORCH_ALLOC_CONF) instead of the usual ones; may be given several times. Empty means the default."`
	Limit    byteLimit `name:"limit" placeholder:"BYTES" help:"Try under this limit: bytes, 4420MiB, 39.5GiB, or none. Without it, the limit that the recorded run met, if it met one."`
	Search   bool      `name:"search" help:"Find the smallest limit that each of the settings survives."`
	JSON     bool      `name:"json" help:"Print the results as JSON, and nothing else."`
	Device   int       `name:"device" default:"-1" placeholder:"N" help:"Look at this device (default: the one that ran out of memory, or else did most)."`
	Jobs     int       `short:"j" placeholder:"N" help:"Make N runs at a time (default: as many as there are processors)."`
}

// Help is what "gaugeblock whatif --help" says beside the flags.
func (*whatifCommand) Help() string {
	return `What the program asked for is read from the snapshot's history, or from a trace that
"gaugeblock record" made, and asked again, on a fake GPU, under other settings. The table has the best settings
first; a figure with ~ before it is not certain, and the last lines say why.
docs/whatif.md explains it.

The snapshot needs its history:

    torch.cuda.memory._record_memory_history(max_entries=2_000_000)
    ...
    torch.cuda.memory._dump_snapshot("snapshot.pickle")

The exit status is 0 if settings could be tried, whatever came of it, and 2 if the
input or the command line made no sense.`
}

// byteLimit is a limit in bytes, as the command line has it.
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

// Run reads the snapshot, tries the settings, and prints what came of it.
func (c *whatifCommand) Run(env *environment) error {
	history, notes, err := c.history(env.stdin)
	if err != nil {
		return err
	}
	limit := c.Limit.bytes
	if !c.Limit.given && history.Limit.Refused() {
		limit = history.Limit.Least
		notes = append(notes, limitNote(history.Limit))
	}
	progress := newProgress(env.stderr, math.MaxInt, c.JSON)
	progress.counting = "%d of %d runs"
	study, err := whatif.Try(history, whatif.Options{
		Settings: c.Settings, Limit: limit, Search: c.Search, Jobs: c.Jobs,
		Progress: func(done, total int) {
			progress.total = total
			progress.set(done)
		},
	})
	progress.set(progress.total)
	progress.finish()
	if err != nil {
		return err
	}
	out := &checkedWriter{to: env.stdout}
	if c.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		encoder.Encode(study.Results()) // the writer remembers its error
		return out.err
	}
	c.print(out, study, notes)
	return out.err
}

// history reads the file. The notes say what it is, and what is left aside.
func (c *whatifCommand) history(stdin io.Reader) (*whatif.History, []string, error) {
	if strings.HasSuffix(c.File, ".jsonl") || strings.HasSuffix(c.File, ".jsonl.gz") {
		return c.fromTrace()
	}
	file, name, err := openSnapshot(c.File, stdin)
	if err != nil {
		return nil, nil, err
	}
	device, histories := whatif.ChooseDevice(file), 0
	for _, trace := range file.Traces {
		if len(trace) > 0 {
			histories++
		}
	}
	if c.Device >= 0 {
		device = spec.Device(c.Device)
	}
	history, err := whatif.Rebuild(file, device)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	notes := []string{history.Summary()}
	if histories > 1 {
		notes = append(notes, fmt.Sprintf("%d devices have a history; --device chooses another one.", histories))
	}
	return history, notes, nil
}

// fromTrace reads a recorded trace.
func (c *whatifCommand) fromTrace() (*whatif.History, []string, error) {
	tr, err := trace.Open(c.File)
	if err != nil {
		return nil, nil, err
	}
	defer tr.Close()
	history, err := whatif.FromTrace(tr, spec.Device(max(c.Device, 0)))
	var format *trace.Error
	switch {
	case errors.As(err, &format):
		return nil, nil, err
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", c.File, err)
	}
	return history, []string{history.Summary()}, nil
}

// limitNote says where the limit comes from.
func limitNote(b whatif.LimitBounds) string {
	if b.Known() {
		return fmt.Sprintf("The run had no more than %s; that is taken for the limit.", spec.FormatSize(b.Least))
	}
	return fmt.Sprintf("The run met a limit between %s and %s; the lower is assumed, and --limit sets another.", spec.FormatSize(b.Least), spec.FormatSize(b.Most))
}

func (c *whatifCommand) print(out io.Writer, study *whatif.Study, notes []string) {
	for _, note := range notes {
		fmt.Fprintln(out, note)
	}
	limit := "none"
	if study.Limit > 0 {
		limit = fmt.Sprintf("%d bytes (%s)", study.Limit, spec.FormatSize(study.Limit))
	}
	fmt.Fprintf(out, "Limit: %s.\n\n%s\n\n%s\n", limit, study.Table(), paragraph(study.Advice()))
	if export := study.Export(); export != "" {
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
