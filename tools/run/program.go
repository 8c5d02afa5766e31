package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/internal/quote"
	"gaugeblock/internal/signals"
)

// Options are what to run, and on what.
type Options struct {
	Command []string
	GPU     gpus.GPU
	Memory  uint64 // bytes of each GPU; 0: as the GPU has
	GPUs    int
	// WorldSize, if it is not 0, is of a program of which only one process runs, that of Rank.
	Rank, WorldSize int
	Settings        string // of the allocator; "": those of the environment
	// Snapshot, Report and Sites: the allocator records its history, with stacks.
	Snapshot, Report, Sites bool
	// Decide: without these it records the last part of its history, without stacks, that is kept if a
	// request fails, so that settings can be compared.
	Decide bool
	// Schedule is when work on a stream is done; the zero one: at once.
	Schedule Schedule
	// Streams: the lines that call record_stream are counted.
	Streams bool
	// NoValues: integers and booleans have no values. NoCuDNN: NVIDIA's cuDNN in the user's wheel
	// is not asked for workspaces.
	NoValues, NoCuDNN bool
	// Assume is what is assumed of counts of what is not known: AssumeLeast, AssumeMost, or "" for the least.
	Assume string
	// Patience is how often a loop reads a value that is not known before it is taken to end, if it makes no progress
	// otherwise; 0: 300; below: it never is.
	Patience int
	// Output, if given, gets what the program prints, which otherwise goes where this process's goes;
	// the program then has no input.
	Output io.Writer
	// Say hears what the user should know before the program starts. Progress, if given, hears
	// how far the program is, now and then.
	Say      func(string)
	Progress func(Progress)
}

// channelsFolder is where processes tell each other what collectives do: fakegpu/cuda/thin/nccl_channels.h.
const channelsFolder = "channels"

// Progress is how far the program's processes are.
type Progress struct {
	Allocated, Reserved uint64 // bytes, of the process that has reserved most
	Steps               int
}

// Run runs the program and tells what it did. The folder is where its processes write; what it
// has at the end is the caller's. An error is not the program's.
func Run(o Options, folder string) (*Result, error) {
	libraries, err := Libraries(o.Say)
	if err != nil {
		return nil, err
	}
	if libraries, err = filepath.Abs(libraries); err != nil {
		return nil, err
	}
	site, err := unpackSite(folder)
	if err != nil {
		return nil, err
	}
	if o.Command[0], err = exec.LookPath(o.Command[0]); err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(folder, channelsFolder), 0o700); err != nil {
		return nil, err
	}
	c := exec.Command(o.Command[0], o.Command[1:]...)
	c.Env = o.environment(folder, site, libraries)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if o.Output != nil {
		c.Stdin, c.Stdout, c.Stderr = nil, o.Output, o.Output
	}
	started := time.Now()
	interrupted, err := o.wait(c, folder)
	if err != nil {
		return nil, err
	}
	result, err := collect(folder)
	if err != nil {
		return nil, err
	}
	result.Status, result.Interrupted = status(c.ProcessState), interrupted
	result.Assume = o.Assume
	_, loaded := os.Stat(filepath.Join(folder, loadedFile))
	_, there := os.Stat(site) // a program can remove the folder
	if loaded != nil && there == nil && startsPython(o.Command[0]) {
		result.unread = whyUnread(result.Status, os.Getenv("PYTHONHOME"))
	}
	result.GPU, result.Memory, result.Seconds = o.GPU.Word, o.memory(), time.Since(started).Seconds()
	return result, nil
}

// whyUnread is why no Python has read PYTHONPATH. Python fails at once if PYTHONHOME is not where it has its library,
// as that of another Python; -I and -E leave PYTHONHOME out, too.
func whyUnread(status int, home string) string {
	if status != 0 && home != "" {
		return fmt.Sprintf("PYTHONHOME is %s: if its library is not there, Python cannot start", quote.Text(home))
	}
	return "-I, -E, -S and another environment leave it out"
}

func (o *Options) memory() uint64 {
	if o.Memory > 0 {
		return o.Memory
	}
	return o.GPU.Memory
}

// wait starts the program and waits for its end. Ctrl-C goes to the program by the terminal, which
// ends with its answer so far; what is sent to this process alone is passed on, and what would end the program without an
// answer only after it was asked.
func (o *Options) wait(c *exec.Cmd, folder string) (interrupted bool, err error) {
	heard := make(chan os.Signal, 8)
	signals.Notify(heard, asking...)
	defer signal.Stop(heard)
	if err := c.Start(); err != nil {
		return false, err
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait()
		close(ended)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case s := <-heard:
			interrupted = true
			if s != os.Interrupt {
				ask(folder)
			}
			if s != os.Interrupt || !isForeground() {
				_ = c.Process.Signal(s)
			}
		case <-tick.C:
			if o.Progress != nil {
				o.Progress(progressOf(folder))
			}
		case <-ended:
			return interrupted || comesToo(heard, status(c.ProcessState)), nil
		}
	}
}

// asking are the signals that ask a program to end.
var asking = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// comesToo reports whether a program that is at its end was asked to end. A signal that all processes of a group get,
// as Ctrl-C, can end the program before it is heard here.
func comesToo(heard <-chan os.Signal, status int) bool {
	patience := time.NewTimer(0)
	if slices.ContainsFunc(asking, func(s os.Signal) bool { return status == 128+int(s.(syscall.Signal)) }) {
		patience.Reset(time.Second)
	}
	defer patience.Stop()
	select {
	case <-heard:
		return true
	case <-patience.C:
		return len(heard) > 0
	}
}

// status is the exit status of a process as a shell has it.
func status(s *os.ProcessState) int {
	if w, is := s.Sys().(syscall.WaitStatus); is && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

func progressOf(folder string) (p Progress) {
	files, _ := filepath.Glob(filepath.Join(folder, "*.progress"))
	for _, f := range files {
		var a Answer
		if readJSON(f, &a) != nil {
			continue
		}
		for _, d := range a.Devices {
			if d.Reserved >= p.Reserved {
				p.Allocated, p.Reserved = d.Allocated, d.Reserved
			}
		}
		p.Steps = max(p.Steps, a.Steps)
	}
	return p
}

// String is a line for people.
func (p Progress) String() string {
	text := fmt.Sprintf("allocated %s, reserved %s", size(p.Allocated), size(p.Reserved))
	if p.Steps > 0 {
		text += fmt.Sprintf(", %d steps", p.Steps)
	}
	return text
}
