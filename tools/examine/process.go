package examine

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gaugeblock/conformance"
	"gaugeblock/fakegpu"
)

// A subject is what is examined: a library (host.go), or a program that speaks the line protocol
// (command.go).
type subject interface {
	// begin makes a new allocator on a GPU.
	begin(gpu *fakegpu.GPU) error
	// call has it do something: an order of host.go. It panics with a *conformance.Gone if
	// the process ends or does not answer.
	call(m message) (words [8]uint64, exception string)
	close()
	allow(bytes uint64)
	settle()         // what streams are through with goes back to the driver
	refused() string // what the driver refused to take back in the latest call; "": nothing
	leaves() string  // CUDA's name of the error that the latest call has left as the last one

	contract() string // as it says, after begin
	lacking() []string
	records() bool    // it can be told of uses
	empties() bool    // its cache can be emptied
	can() abilities   // what else
	named() Functions // zero for a program
}

// abilities are what an allocator may have beside what PyTorch's plugged-in ones have.
type abilities struct{ aligns, resizes, sleeps, ends bool }

// watchdog ends a process that does not answer.
type watchdog struct {
	// how long a call may take, and the time until something is heard: a time.Duration
	patience atomic.Int64
	// how long it was waited for when one hung for the first time; 0: none has
	proven time.Duration
	pid    atomic.Int64  // 0: there is none
	heard  atomic.Uint64 // changes whenever something is heard; odd while somebody waits
	more   atomic.Int64  // beside the patience, for a call that may write much memory: a time.Duration
	calls  atomic.Uint64 // changes when a call begins and when it ends; odd during one
	killed atomic.Int64  // the process that was ended
	done   chan bool
	often  func() // is called every now and then
}

// waiting says that somebody waits for the process, until over is called.
func (w *watchdog) waiting() (over func()) {
	w.heard.Add(1)
	return func() { w.heard.Add(1) }
}

// calling says that a call has begun, until over is called. It ends within the patience,
// whatever is heard meanwhile.
func (w *watchdog) calling() (over func()) {
	w.calls.Add(1)
	return func() { w.calls.Add(1) }
}

// allow gives a call more time for memory of the host that it may write.
func (w *watchdog) allow(bytes uint64) {
	const perByte = 10 * time.Nanosecond
	w.more.Store(int64(time.Duration(bytes) * perByte))
}

// mostQueries is how many queries in one call find work that is not complete: a program may
// ask until it is.
const mostQueries = 500

// watch begins.
func (w *watchdog) watch() {
	w.done = make(chan bool)
	go func(done <-chan bool) {
		last, since := w.heard.Load(), time.Now()
		call, began := w.calls.Load(), time.Now()
		for {
			patience := time.Duration(w.patience.Load())
			select {
			case <-done:
				return
			case <-time.After(min(patience/10, time.Second)):
			}
			w.often()
			if now := w.heard.Load(); now != last || now%2 == 0 {
				last, since = now, time.Now()
			}
			if now := w.calls.Load(); now != call || now%2 == 0 {
				call, began = now, time.Now()
			}
			patience += time.Duration(w.more.Load())
			if pid := w.pid.Load(); pid > 0 && max(time.Since(since), time.Since(began)) > patience {
				w.killed.Store(pid)
				w.kill()
				since, began = time.Now(), time.Now()
			}
		}
	}(w.done)
}

// kill ends the process, and all that it has started: it leads a group of processes.
func (w *watchdog) kill() {
	if pid := int(w.pid.Load()); pid > 0 {
		killGroup(pid)
	}
}

// marks are the environment of what is examined, by which all processes are found that it has
// started, whatever groups and sessions they have made.
type marks struct{ mark string }

func (m *marks) environment() string {
	if m.mark == "" {
		m.mark = fmt.Sprintf("GAUGEBLOCK_EXAMINED=%d-%d", os.Getpid(), examined.Add(1))
	}
	return m.mark
}

var examined atomic.Int64

// killMarked ends them.
func (m *marks) killMarked() {
	if m.mark != "" {
		killProcessesWith(m.mark)
	}
}

func (w *watchdog) unwatch() { close(w.done) }

// gone is the end of the process, which has ended in the way that is said.
func (w *watchdog) gone(how string) *conformance.Gone {
	if pid := w.pid.Load(); pid > 0 && pid == w.killed.Load() {
		if w.proven == 0 { // from now on it is only made shorter
			w.proven = time.Duration(w.patience.Load())
			w.patience.Store(int64(max(w.proven/10, 100*time.Millisecond)))
		}
		return &conformance.Gone{Hangs: true, Reason: fmt.Sprintf("the call did not return within %v", w.proven)}
	}
	return &conformance.Gone{Reason: how}
}

// lastWords is what a process writes to its error output.
type lastWords struct {
	said *os.File
	from int64 // where the part of the present program begins
}

// open makes the file.
func (l *lastWords) open() (err error) {
	if l.said != nil {
		return nil
	}
	if l.said, err = os.CreateTemp("", "gaugeblock-said-"); err != nil {
		return err
	}
	return os.Remove(l.said.Name())
}

// listen begins a program's part.
func (l *lastWords) listen() (err error) {
	l.forget()
	l.from, err = l.said.Seek(0, io.SeekEnd)
	return err
}

// forget gives the file's room on the disk back, if much was written: what is written next leaves a hole.
func (l *lastWords) forget() {
	const much = 64 << 20
	if there, err := l.said.Stat(); err == nil && there.Size() > much {
		_ = l.said.Truncate(mostSaid)
	}
}

// mostSaid is how many bytes are looked at, of what all programs write.
const mostSaid = 1 << 20

// lacking are the lines of the fake GPU's libraries on what is not there, each once.
func (l *lastWords) lacking() (lines []string) {
	if l.said == nil {
		return nil
	}
	text, err := io.ReadAll(io.NewSectionReader(l.said, 0, mostSaid))
	if err != nil {
		return nil
	}
	return ofLibraries(string(text))
}

// ofLibraries are the lines of a text that are the fake GPU's libraries', each once.
func ofLibraries(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "fake CUDA: ") && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// with adds the last lines that were written for this program, and before them what the fake GPU's libraries have said.
func (l *lastWords) with(how string) string {
	const most, longest = 3, 1 << 16
	from := l.from
	if end, err := l.said.Seek(0, io.SeekEnd); err == nil {
		from = max(from, end-longest)
	}
	text, err := io.ReadAll(io.NewSectionReader(l.said, from, longest))
	lines := strings.Split(string(bytes.TrimSpace(text)), "\n")
	if err != nil || lines[0] == "" {
		return how
	}
	last := lines[max(0, len(lines)-most):]
	first := slices.DeleteFunc(ofLibraries(string(text)), func(line string) bool { return slices.Contains(last, line) })
	return how + "; it wrote: " + strings.Join(append(first, last...), "; ")
}
