package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"gaugeblock/internal/brief"
	"gaugeblock/internal/memlimit"
	"gaugeblock/internal/quote"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/snapshot/tell"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// whatifCommand is "gaugeblock whatif".
type whatifCommand struct {
	File      string     `arg:"" help:"A file from torch.cuda.memory._dump_snapshot (also gzipped, or as JSON), - for standard input, a recorded trace (*.jsonl, *.jsonl.gz), or a text with PyTorch's out-of-memory error or a memory_summary table."`
	Settings  []string   `name:"settings" sep:"none" placeholder:"TEXT" help:"Compare these settings (PYTORCH_ALLOC_CONF) instead of the usual ones; may be given several times. Empty means the default."`
	Limit     byteLimit  `name:"limit" placeholder:"SIZE" help:"Compare under this memory fraction: 4420MiB, 39.5GiB, 4634705920B, or none. Without it and --device-memory, the limits that the recorded run reached, if it reached one."`
	Memory    byteLimit  `name:"device-memory" placeholder:"SIZE" help:"Compare on a device that has so much memory for the program."`
	Capacity  byteLimit  `name:"capacity" placeholder:"SIZE" help:"The total capacity of the device, as PyTorch's message has it: with it the memory outside of the allocator is told."`
	Search    bool       `name:"search" help:"Find the smallest limit without out of memory, for each of the settings."`
	All       bool       `name:"all" help:"Show all settings that were compared. Otherwise the table has at most six rows."`
	Why       bool       `name:"why" help:"Tell the reasons: what happened, why, what to do and how sure that is, in full sentences."`
	JSON      bool       `name:"json" help:"Print the result as one JSON object, and nothing else."`
	Device    int        `name:"device" default:"-1" placeholder:"N" help:"Use the history of this device (default: the one that ran out of memory, or else the one with the longest history)."`
	PyTorch   release    `name:"pytorch" placeholder:"RELEASE" help:"Follow this release of PyTorch, such as 2.13 (default: what the record tells)."`
	Jobs      int        `short:"j" aliases:"workers" placeholder:"N" help:"Make N runs at a time (default: as many as there are processors)."`
	MaxMemory memorySize `name:"max-memory" default:"2GiB" placeholder:"SIZE" help:"Stop if the file, or comparing settings, takes more memory than this (default: 2GiB)."`
}

// Help is what "gaugeblock whatif --help" prints beside the flags.
func (*whatifCommand) Help() string {
	return `The requests of the program are read from the history of the snapshot, or from a trace
that "gaugeblock record" made. They are repeated on a fake GPU under other settings.
Three lines say what happened, why, and what to try; --why tells the reasons. The table has
the best settings first; "now" marks the present ones, and ">" those to change to. A statistic with ~ before
it is not exact. docs/whatif.md explains it.

If there is only the error message, or a log with it inside, give that: what it says is
explained, and what follows from it.

The snapshot needs its history:

    torch.cuda.memory._record_memory_history(max_entries=2_000_000)
    ...
    torch.cuda.memory._dump_snapshot("snapshot.pickle")

The exit status is 0 if settings could be compared, whatever the result, and 2 if the
input or the command line made no sense.`
}

// byteLimit is a limit in bytes on the command line.
type byteLimit struct {
	given   bool
	bare    bool   // a number without a unit
	decimal string // as it was written, if its unit is a power of 1000: 24G
	bytes   uint64 // 0: none
}

// question is a line about a limit that may not be what was meant, "" without one.
func (l *byteLimit) question(flag string) string {
	if l.decimal != "" {
		return fmt.Sprintf("%s=%s is %s, by units of 1000: was %siB meant?\n", flag, l.decimal, spec.FormatSize(l.bytes), strings.ToUpper(strings.TrimRight(l.decimal, "bB")))
	}
	if !l.bare {
		return ""
	}
	return fmt.Sprintf("%s has no unit: were bytes meant? %d bytes (%s) are compared.\n", flag, l.bytes, spec.FormatSize(l.bytes))
}

// UnmarshalText reads "none", "4420MiB", "39.5GiB" or a number of bytes. A number without
// a unit may be a mistake, as may a size that is less than one segment: 40 for 40 GiB.
func (l *byteLimit) UnmarshalText(word []byte) error {
	l.given = true
	if string(word) == "none" {
		return nil
	}
	n, err := parseSize(string(word))
	if err != nil || n > play.LargestLimit {
		return fmt.Errorf("%q is not a limit: give 4420MiB, 39.5GiB, bytes as 4634705920B (less than 1 TiB), or none", word)
	}
	number := strings.TrimRight(string(word), " bBkKmMgGtTiI")
	l.bare = number == string(word)
	bytesMeant := !l.bare && number == strings.TrimRight(string(word), " bB")
	if n < smallestLimit && !bytesMeant {
		return fmt.Errorf("%s is %d bytes, less than one segment (20 MiB): were bytes meant? Then write %dB; otherwise give a larger unit, as in %sGiB", word, n, n, number)
	}
	if !l.bare && !bytesMeant && !strings.ContainsAny(string(word), "iI") {
		l.decimal = strings.ReplaceAll(string(word), " ", "")
	}
	l.bytes = n
	return nil
}

// smallestLimit is the size of a segment of a large pool, in bytes.
const smallestLimit = 20 * spec.MiB

// Validate is called by kong.
func (c *whatifCommand) Validate() error {
	if err := checkJobs(c.Jobs, 0); err != nil {
		return err
	}
	for _, s := range c.Settings {
		if err := compare.CheckSettings(s); err != nil {
			return fmt.Errorf("--settings: %w", err)
		}
	}
	return validateDevice(c.Device)
}

// Run reads the file, compares the settings, and prints the predictions.
func (c *whatifCommand) Run(env *environment) error {
	fmt.Fprint(env.stderr, c.Limit.question("--limit"), c.Memory.question("--device-memory"), c.Capacity.question("--capacity"))
	defer c.MaxMemory.bound()()
	if m, err := c.errorText(env); m != nil || err != nil {
		if err != nil {
			return err
		}
		return c.explainError(env, m)
	}
	workload, notes, err := c.workload(env)
	var none *history.WorkloadError
	if errors.As(err, &none) && c.JSON {
		out := &checkedWriter{to: env.stdout}
		writeJSON(out, tell.NothingToCompare(int(none.Device)))
		return err
	}
	if err != nil {
		return err
	}
	if c.Capacity.bytes > 0 {
		workload.DeviceMemory = c.Capacity.bytes
	}
	options := compare.Options{
		Settings: c.Settings, Limit: c.Limit.bytes, DeviceMemory: c.Memory.bytes, SearchLimit: c.Search, Jobs: c.Jobs, MaxMemory: c.MaxMemory.most(),
		AsRecorded: !c.Limit.given && !c.Memory.given, Present: true,
	}
	comparison, err := env.compare(workload, options, c.JSON)
	if err != nil {
		return inFile(c.File, err)
	}
	out := &checkedWriter{to: env.stdout}
	if c.JSON {
		writeJSON(out, tell.Answer{Comparison: comparison})
		return out.err
	}
	c.print(env, out, tell.Answer{Comparison: comparison}, notes)
	return out.err
}

// writeJSON writes a value on several lines. The writer remembers its error.
func writeJSON(out *checkedWriter, v any) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	encoder.Encode(v)
}

// compare compares settings, with a progress bar.
func (e *environment) compare(w *history.Workload, o compare.Options, forPrograms bool) (*compare.Comparison, error) {
	progress := newProgress(e.stderr, math.MaxInt, forPrograms)
	progress.counting = "%d of %d runs"
	o.Progress = func(done, total int) {
		progress.total = total
		progress.set(done)
	}
	comparison, err := compare.Compare(w, o)
	progress.set(progress.total)
	progress.finish()
	return comparison, err
}

// inFile adds the name of the file to an error that is about the memory.
func inFile(path string, err error) error {
	if excess := new(memlimit.ExcessError); errors.As(err, &excess) {
		return fmt.Errorf("%s: comparing settings: %w", quote.Text(path), err)
	}
	return err
}

// workload reads the file. The notes describe it.
func (c *whatifCommand) workload(env *environment) (*history.Workload, []string, error) {
	if there, err := os.Stat(c.File); err == nil && there.IsDir() {
		return nil, nil, fmt.Errorf("%s is a folder: whatif takes one file; gaugeblock report takes a folder, with the snapshots of the ranks of a run", quote.Text(c.File))
	}
	if strings.HasSuffix(c.File, ".jsonl") || strings.HasSuffix(c.File, ".jsonl.gz") {
		return c.fromTrace()
	}
	file, name, err := env.openSnapshot(c.File, c.MaxMemory, c.JSON)
	if err != nil {
		return nil, nil, err
	}
	histories := 0
	for _, trace := range file.DeviceTraces {
		if len(trace) > 0 {
			histories++
		}
	}
	workload, err := play.FromSnapshotOf(file, chooseDevice(file, c.Device), c.PyTorch.orOf(file))
	if err != nil {
		if state := tell.State(file, chooseDevice(file, c.Device)); state != "" && !c.JSON {
			fmt.Fprintln(env.stdout, paragraph(state, terminalWidth(env.stdout)))
		}
		return nil, nil, fmt.Errorf("%s: %w", quote.Text(name), err)
	}
	notes := []string{tell.Summary(workload)}
	if histories > 1 {
		notes = append(notes, fmt.Sprintf("%d devices have a history; --device chooses another one.", histories))
	}
	return workload, notes, nil
}

// orOf are the release that was given, or those that may have written a file.
func (r *release) orOf(file *snapshot.File) []upstream.Release {
	if r.given() {
		return []upstream.Release{r.Release}
	}
	return history.ReleasesOf(file.Version)
}

// openSnapshot reads a snapshot, with a progress bar, and returns its name in messages.
func (e *environment) openSnapshot(path string, maxMemory memorySize, quiet bool) (*snapshot.File, string, error) {
	most := maxMemory.most()
	if path == "-" {
		file, err := snapshot.ReadLimited(&readingProgress{from: e.stdin, progress: newProgress(e.stderr, 0, true)}, "stdin", most)
		return file, "stdin", err
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, path, err
	}
	defer in.Close()
	reading := &readingProgress{from: in, progress: newProgress(e.stderr, 0, quiet)}
	if there, err := in.Stat(); err == nil {
		reading.progress.total = int(there.Size() >> 20)
	}
	reading.progress.counting = "reading: %d of %d MiB"
	defer reading.progress.finish()
	file, err := snapshot.ReadLimited(reading, path, most)
	return file, path, err
}

// readingProgress counts what is read.
type readingProgress struct {
	from     io.Reader
	progress *progress
	read     int64
	large    bool // much of what was read is in use
}

func (r *readingProgress) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	const often = 20 // every 2^20 bytes
	if before := r.read >> often; !r.large && before != (r.read+int64(n))>>often {
		r.large = collectSooner()
	}
	r.read += int64(n)
	r.progress.set(int(r.read >> 20))
	return n, err
}

// chooseDevice is the device of the flag, or without one that of history.ChooseDevice.
func chooseDevice(file *snapshot.File, flag int) spec.Device {
	if flag >= 0 {
		return spec.Device(flag)
	}
	return history.ChooseDevice(file)
}

// fromTrace reads a recorded trace.
func (c *whatifCommand) fromTrace() (*history.Workload, []string, error) {
	tr, err := trace.Open(c.File)
	if err != nil {
		return nil, nil, err
	}
	defer tr.Close()
	most := c.MaxMemory.most()
	workload, err := history.FromTrace(tr, spec.Device(max(c.Device, 0)), most)
	if err == nil && c.PyTorch.given() {
		workload.Release = c.PyTorch.Release
	}
	var format *trace.Error
	switch {
	case errors.As(err, &format):
		return nil, nil, err
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", quote.Text(c.File), err)
	}
	return workload, []string{tell.Summary(workload)}, nil
}

// print writes the three lines, the table, and the rest.
func (c *whatifCommand) print(env *environment, out io.Writer, answer tell.Answer, notes []string) {
	width := terminalWidth(env.stdout)
	lines := answer.Brief()
	writeBrief(out, env.stdout, lines)
	if export := answer.Export(); export != "" && !strings.HasPrefix(lines.Try, export) {
		fmt.Fprintf(out, "\n    %s\n", export)
	}
	fmt.Fprintf(out, "\n%s\n", answer.Table(tell.TableOptions{All: c.All, Width: width}))
	if hidden := len(answer.Predictions) - len(answer.Shown(c.All)); hidden > 0 {
		fmt.Fprintf(out, "%s compared; --all shows them.\n", english.Plural(hidden, "more setting was", "more settings were"))
	}
	if c.Why {
		fmt.Fprintf(out, "\n%s\n", paragraph(answer.Verdict(), width))
		if details := answer.Details(); details != "" {
			fmt.Fprintf(out, "\n%s\n", paragraph(details, width))
		}
		fmt.Fprintf(out, "\n%s\n", paragraph(strings.Join(append(notes, answer.LimitNote(), answer.ReleaseNote()), " "), width))
		return
	}
	if w := answer.Workload; !w.NoEnd && w.Complete() {
		notes = notes[1:] // that the record is whole is no news
	}
	rest := append([]string{answer.HowSure(), answer.LimitQuestion()}, append(notes, answer.ReleaseNote(), "--why tells the reasons.")...)
	rest = slices.DeleteFunc(rest, func(s string) bool { return s == "" })
	fmt.Fprintf(out, "\n%s\n", paragraph(strings.Join(rest, " "), width))
}

// writeBrief writes three lines to one of the streams, or to what collects for it, bold where it is a terminal
// with colour.
func writeBrief(out, stream io.Writer, lines brief.Lines) {
	if !isTerminal(stream) {
		lines.Write(out, nil)
		return
	}
	lines.Map(quote.Text).Write(folded(unquoted(stream)), bold)
}

func bold(line string) string { return text.Bold.Sprint(line) } // the library knows NO_COLOR

// terminalWidth is the width of a terminal in columns, 0 if the output is not one. The
// variable COLUMNS sets another.
func terminalWidth(w io.Writer) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if file, isFile := unquoted(w).(*os.File); isFile {
		if n, _, err := term.GetSize(int(file.Fd())); err == nil {
			return n
		}
	}
	return 0
}

// paragraph breaks a text into lines of at most 100 columns, or as wide as the terminal.
func paragraph(sentences string, width int) string {
	columns := 100
	if width > 0 {
		columns = min(columns, width)
	}
	var lines []string
	for line := range strings.Lines(text.WrapSoft(sentences, columns)) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n")
}
