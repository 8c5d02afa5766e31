package main

import (
	"io"
	"os"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// progressDelay is how long people wait before they want to see progress.
const progressDelay = time.Second

// progress is a bar on the terminal that standard error goes to. It appears only
// when there is something to wait for, and only for people: not when standard
// error goes elsewhere, and not beside output for programs.
type progress struct {
	terminal  io.Writer // nil: no bar, ever
	counting  string    // what is counted, as a format of two numbers
	started   time.Time
	total     int
	done      int
	container *mpb.Progress // nil before the bar appears and after it is gone
	bar       *mpb.Bar
}

func newProgress(stderr io.Writer, total int, forPrograms bool) *progress {
	p := &progress{counting: "%d of %d traces", started: time.Now(), total: total}
	if !forPrograms && isTerminal(stderr) {
		p.terminal = stderr
	}
	return p
}

func isTerminal(w io.Writer) bool {
	file, isFile := w.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

// advance notes that one more is done.
func (p *progress) advance() { p.set(p.done + 1) }

// set notes that so many are done.
func (p *progress) set(done int) {
	p.done = min(done, p.total)
	if p.container == nil && p.terminal != nil && p.done < p.total && time.Since(p.started) > progressDelay {
		p.appear()
	}
	if p.bar != nil {
		p.bar.SetCurrent(int64(p.done))
	}
}

func (p *progress) appear() {
	p.container = mpb.New(mpb.WithOutput(p.terminal))
	p.bar = p.container.AddBar(int64(p.total),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.CountersNoUnit(p.counting)),
		mpb.AppendDecorators(decor.Percentage()),
	)
}

// finish removes the bar and writes what was written above it and is not yet
// shown.
func (p *progress) finish() {
	if p.container == nil {
		return
	}
	p.container.Wait()
	p.container, p.bar = nil, nil
}

// above returns a writer to w that does not tear the bar: while there is one,
// what goes to a terminal is written above it.
func (p *progress) above(w io.Writer) io.Writer {
	if p.terminal == nil || !isTerminal(w) {
		return w
	}
	return &aboveBar{p, w}
}

type aboveBar struct {
	progress *progress
	w        io.Writer
}

func (a *aboveBar) Write(text []byte) (int, error) {
	if a.progress.container != nil {
		return a.progress.container.Write(text)
	}
	return a.w.Write(text)
}
