package main

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"gaugeblock/internal/quote"
)

// progressDelay is the time before the progress bar appears.
const progressDelay = time.Second

// progress is a progress bar on standard error. It appears after a delay, and only if
// standard error is a terminal and the output is not for programs.
type progress struct {
	terminal  io.Writer // nil: no bar
	counting  string    // the format of the two numbers
	started   time.Time
	total     int
	done      int
	mu        sync.Mutex    // of what follows: workers may count while results are written
	container *mpb.Progress // nil while there is no bar
	bar       *mpb.Bar
	uncaught  func() // stops catching the signals that nobody else catches; nil: somebody does
}

// onScreen is the bar that is shown, nil if none is.
var onScreen atomic.Pointer[progress]

// removeBar removes the bar that is shown, when a signal ends the command.
func removeBar() {
	if p := onScreen.Load(); p != nil {
		p.remove()
	}
}

func newProgress(stderr io.Writer, total int, forPrograms bool) *progress {
	p := &progress{counting: "%d of %d traces", started: time.Now(), total: total}
	if !forPrograms && isTerminal(stderr) {
		p.terminal = unquoted(stderr) // the bar moves the cursor
	}
	return p
}

// isTerminal reports whether what is written appears on a terminal that can move its
// cursor. One that cannot says TERM=dumb.
func isTerminal(w io.Writer) bool { return isScreen(w) && os.Getenv("TERM") != "dumb" }

// isScreen reports whether what is written appears on a terminal of any kind.
func isScreen(w io.Writer) bool {
	file, isFile := unquoted(w).(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

// unquoted is the writer below a quote.Writer and a foldWriter.
func unquoted(w io.Writer) io.Writer {
	if quoted, isQuoted := w.(*quote.Writer); isQuoted {
		w = quoted.To
	}
	if folds, isFolded := w.(*foldWriter); isFolded {
		w = folds.to
	}
	return w
}

// advance counts one more.
func (p *progress) advance() { p.set(p.done + 1) }

// set sets the count.
func (p *progress) set(done int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = min(done, p.total)
	if p.container == nil && p.terminal != nil && p.done < p.total && time.Since(p.started) > progressDelay {
		p.appear()
	}
	if p.bar != nil {
		p.bar.SetCurrent(int64(p.done))
	}
}

func (p *progress) appear() {
	onScreen.Store(p)
	if catching.Load() == 0 {
		p.uncaught = atSignal(func() {}, always)
	}
	p.container = mpb.New(mpb.WithOutput(p.terminal))
	p.bar = p.container.AddBar(int64(p.total),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.CountersNoUnit(p.counting)),
		mpb.AppendDecorators(decor.Percentage()),
	)
}

// counted hears of each count at its end; a test has one that looks at it, where no terminal shows a bar.
var counted = func(*progress) {}

// finish removes the bar, full or not, and flushes what was written above it.
func (p *progress) finish() {
	counted(p)
	p.remove()
	onScreen.CompareAndSwap(p, nil)
	if p.uncaught != nil {
		p.uncaught()
		p.uncaught = nil
	}
}

func (p *progress) remove() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.terminal = nil // it does not appear again
	if p.container == nil {
		return
	}
	p.bar.Abort(true) // Wait waits for each bar, until it is full or aborted
	p.container.Wait()
	p.container, p.bar = nil, nil
}

// above returns a writer to w, which quotes. If w is a terminal, it writes above the bar.
func (p *progress) above(w io.Writer) io.Writer {
	if p.terminal == nil || !isTerminal(w) {
		return w
	}
	to := io.Writer(&aboveBar{p, unquoted(w)})
	if columns := terminalWidth(w); columns >= narrowest {
		to = &foldWriter{to: to, columns: columns}
	}
	return &quote.Writer{To: to}
}

type aboveBar struct {
	progress *progress
	w        io.Writer
}

func (a *aboveBar) Write(text []byte) (int, error) {
	a.progress.mu.Lock()
	defer a.progress.mu.Unlock()
	if a.progress.container != nil {
		return a.progress.container.Write(text)
	}
	return a.w.Write(text)
}
