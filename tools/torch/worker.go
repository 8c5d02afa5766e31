package torch

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"gaugeblock/conformance"
	"gaugeblock/spec/trace"
	binary "gaugeblock/tools/torch/binary"
)

// Programs are performed by other processes, for PyTorch's allocator can crash, and the
// search has to go on. A worker is this same program, started anew; it is given jobs, one
// after the other, and says where it is in a file that both have in memory.

// workerVariable is set, to the directory that Build has built in, in a worker.
const workerVariable = "GAUGEBLOCK_TORCH_WORKER"

// librariesVariable is PyTorch's directory, in a worker.
const librariesVariable = "GAUGEBLOCK_TORCH_LIBRARIES"

// A job is a number of programs with seeds one after the other, or one that is known.
type job struct {
	Area     string
	Seed     uint64 // of the first program
	Programs int
	Conditions

	Known  bool
	Header trace.Header
	Ops    []trace.Op

	Alone bool // the program is known, and performed by PyTorch's allocator alone: see against.go

	Scale   string   // the configuration that the operations are a walk of
	Layouts []uint64 // by operation: a hash of the layout that it leads to; 0: it is not looked at
}

// reply is what came of a job.
type reply struct {
	Operations int
	Outcomes   []Outcome // those with a difference; of programs that were made up, with one that no row explains
	Listed     map[string]int
	Alone      alone
	Otherwise  int // of a walk: the operation, from 1, at which it ends since a malloc ended otherwise than in the specification
	Error      string
}

// Work serves jobs and then ends the process, if this process is a worker. Otherwise it
// returns at once.
func Work() {
	if dir := os.Getenv(workerVariable); dir != "" {
		end(serve(dir))
	}
}

// end ends a process that has run PyTorch's allocator. The functions that its libraries have
// registered for the end of the process must not run, because their data was set back to an
// earlier state (binary.New). os.Exit runs them under the race detector, syscall.Exit never.
func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		syscall.Exit(1)
	}
	syscall.Exit(0)
}

func serve(dir string) error {
	go endWithParent(os.Getppid())
	runtime.LockOSThread() // a thread has a current device
	o := binary.Options{Libraries: os.Getenv(librariesVariable), Work: dir}
	if err := loadPyTorch(o); err != nil {
		return err
	}
	place, err := placeOf(os.NewFile(3, "place"))
	if err != nil {
		return err
	}
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	for {
		var j job
		if err := in.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := out.Encode(j.perform(place)); err != nil {
			return err
		}
	}
}

// endWithParent ends this process when the one that has started it has ended, also in an operation
// that hangs.
func endWithParent(parent int) {
	for os.Getppid() == parent {
		time.Sleep(time.Second)
	}
	syscall.Exit(1)
}

func (j *job) perform(place *place) (r reply) {
	if j.Scale != "" {
		return j.follow(place)
	}
	area := conformance.Find(j.Area)
	if area == nil {
		return reply{Error: fmt.Sprintf("there is no area %q", j.Area)}
	}
	if j.Alone {
		answer, err := j.alone(place)
		if err != nil {
			r.Error = err.Error()
		}
		r.Alone = answer
		return r
	}
	var room []trace.Op
	for i := range max(j.Programs, 1) {
		var o Outcome
		var err error
		seed := j.Seed + uint64(i)
		told := func(operation int) { place.set(seed, r.Operations, operation) }
		if j.Known {
			o, err = performLooking(area, j.Header, j.Ops, max(j.Every, 1), told)
		} else {
			o, err = Run(area, seed, j.Conditions, told, &room)
		}
		if err != nil {
			return reply{Error: err.Error()}
		}
		r.Operations += o.Operations
		for row, n := range o.Listed {
			if r.Listed == nil {
				r.Listed = map[string]int{}
			}
			r.Listed[row] += n
		}
		switch {
		case o.Difference == nil:
		case o.Row != "" && !j.Known: // its row is all that is asked for
			if r.Listed == nil {
				r.Listed = map[string]int{}
			}
			r.Listed[o.Row]++
			room = o.Ops
		default:
			r.Outcomes = append(r.Outcomes, o)
		}
	}
	return r
}

// place is where a worker is: the seed, the operations of the job before this program, and
// the operation of the program.
type place struct{ words *[3]uint64 }

const placeBytes = 4096

func placeOf(f *os.File) (*place, error) {
	data, err := mapped(f, placeBytes)
	if err != nil {
		return nil, err
	}
	return &place{(*[3]uint64)(unsafe.Pointer(&data[0]))}, nil
}

// set is called for every operation; the first two change with the program.
func (p *place) set(seed uint64, before, operation int) {
	if p.words[0] != seed || p.words[1] != uint64(before) {
		atomic.StoreUint64(&p.words[0], seed)
		atomic.StoreUint64(&p.words[1], uint64(before))
	}
	atomic.StoreUint64(&p.words[2], uint64(operation))
}

// position is what a place says.
type position struct{ seed, before, operation uint64 }

func (p *place) get() position {
	return position{operation: atomic.LoadUint64(&p.words[2]), seed: atomic.LoadUint64(&p.words[0]), before: atomic.LoadUint64(&p.words[1])}
}

// A Crash is the end of a worker in the middle of a program. One that has not come to the end of
// an operation for some time is ended, and counts as one.
type Crash struct {
	Seed      uint64
	Operation int    // of the program, from 1
	Before    int    // operations of the job before the program
	Said      string // how the process ended, and its last words
	Hangs     bool   // it had to be ended
}

func (c *Crash) Error() string {
	return fmt.Sprintf("seed %d, operation %d: %s", c.Seed, c.Operation, c.Said)
}

// worker is such a process, seen from here.
type worker struct {
	options  binary.Options
	program  string // this one, or one that serves in the same way
	process  *exec.Cmd
	in       io.WriteCloser
	jobs     *gob.Encoder
	replies  *gob.Decoder
	said     bytes.Buffer
	file     *os.File
	place    *place
	patience time.Duration // how long an operation may take
	used     time.Duration // of the processor, by processes that have ended
}

// patience is how long an operation may take: more than a million times what it does take.
const patience = 10 * time.Second

// memoryLimit is how much memory Go's heap of a worker may take before garbage is collected.
// Programs leave little behind, and the processor's caches serve a small heap better than a large
// one.
const memoryLimit = "64MiB"

// startWorker starts one of this program.
func startWorker(o binary.Options) (*worker, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startWorkerOf(program, o)
}

// startWorkerOf starts one of a program that calls Work.
func startWorkerOf(program string, o binary.Options) (*worker, error) {
	w := &worker{options: o, program: program, patience: patience}
	f, err := os.CreateTemp("", "gaugeblock-place-")
	if err != nil {
		return nil, err
	}
	w.file = f
	if err := errors.Join(os.Remove(f.Name()), f.Truncate(placeBytes)); err != nil {
		return nil, err
	}
	if w.place, err = placeOf(f); err != nil {
		return nil, err
	}
	return w, w.start()
}

func (w *worker) start() (err error) {
	w.said.Reset()
	w.process = exec.Command(w.program)
	w.process.Env = append(os.Environ(), workerVariable+"="+w.options.Work, librariesVariable+"="+w.options.Libraries,
		"GOTRACEBACK=none", "PYTORCH_ALLOC_CONF=", "PYTORCH_CUDA_ALLOC_CONF=", "GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT="+memoryLimit)
	w.process.ExtraFiles = []*os.File{w.file}
	w.process.Stderr = &w.said
	w.process.SysProcAttr = ownGroup() // Ctrl-C in a terminal is for this process: a worker that it ended would count as a crash
	if w.in, err = w.process.StdinPipe(); err != nil {
		return err
	}
	out, err := w.process.StdoutPipe()
	if err != nil {
		return err
	}
	w.jobs, w.replies = gob.NewEncoder(w.in), gob.NewDecoder(out)
	return w.process.Start()
}

// do has a job done. A crash is an answer: the worker has been started anew.
func (w *worker) do(j *job) (r reply, crash *Crash, err error) {
	w.place.set(0, 0, 0)
	done := make(chan bool)
	hangs := w.watch(done)
	if err := w.jobs.Encode(j); err == nil {
		err := w.replies.Decode(&r)
		close(done)
		if err == nil {
			if r.Error != "" {
				return r, nil, errors.New(r.Error)
			}
			return r, nil, nil
		}
	} else {
		close(done)
	}
	ended := w.process.Wait()
	w.used += w.process.ProcessState.UserTime() + w.process.ProcessState.SystemTime()
	crash = &Crash{
		Seed: w.place.words[0], Before: int(w.place.words[1]), Operation: int(w.place.words[2]),
		Said: strings.TrimSpace(fmt.Sprintf("%v: %s", ended, lastWords(w.said.String()))),
	}
	if crash.Hangs = <-hangs; crash.Hangs {
		crash.Said = fmt.Sprintf("the call did not return within %v", w.patience)
	}
	if crash.Operation == 0 {
		return r, nil, fmt.Errorf("a worker has ended before it began: %s", crash.Said)
	}
	return r, crash, w.start()
}

// watch ends the worker when an operation takes too long. The channel says whether it did.
func (w *worker) watch(done <-chan bool) <-chan bool {
	hangs := make(chan bool, 1)
	process := w.process.Process
	go func() {
		began, at := time.Now(), w.place.get()
		for {
			select {
			case <-done:
				hangs <- false
				return
			case <-time.After(w.patience / 10):
			}
			if now := w.place.get(); now != at || now.operation == 0 {
				began, at = time.Now(), now
			}
			if time.Since(began) > w.patience {
				hangs <- process.Kill() == nil
				return
			}
		}
	}()
	return hangs
}

// lastWords are the lines that say why a process ended.
func lastWords(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "PC=") && len(kept) < 3 {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "; ")
}

// stop ends the worker.
func (w *worker) stop() error {
	err := errors.Join(w.in.Close(), w.process.Wait(), w.file.Close())
	w.used += w.process.ProcessState.UserTime() + w.process.ProcessState.SystemTime()
	return err
}

// difference is the crash as one.
func (c *Crash) difference() *Difference {
	what := "crash"
	if c.Hangs {
		what = "hang"
	}
	return &Difference{Operation: c.Operation, Op: what, What: what, Reference: "an answer", PyTorch: c.Said}
}
