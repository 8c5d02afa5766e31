package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gaugeblock/tools/torch"
)

// A subject is a command that is put into situations. It runs in a folder of its own.
type subject struct {
	name    string
	args    []string // ends by itself, with exit status 0
	input   string   // a file that args name; "": none
	outputs []string // files that args write, in the folder
	busy    []string // goes on until it is ended; nil: it waits until somebody reads what it prints
	feed    string   // the file whose beginning busy gets on its standard input, which stays open
	bar     bool     // busy has a progress bar
	slow    bool     // it compiles something: only some situations
	soFar   bool     // what is known when a signal ends it is written
	offline []string // needs a network, and ends without one
	env     []string // for busy
}

// subjects are all commands.
func subjects(t *testing.T) []subject {
	t.Helper()
	files := t.TempDir()
	snapshot := absolute(t, "../../snapshot/tell/testdata/snapshots/gpt_oom7.default.limit.pickle.gz")
	trace, log := absolute(t, "../../tests/golden/testdata/basic-1000.jsonl.gz"), filepath.Join(files, "log.csv")
	oom, text := filepath.Join(files, "oom.txt"), "Thread,Time,Action,Pointer,Size,Stream\n0,1,allocate,0x1000,10,0\n0,2,free,0x1000,10,0\n"
	if err := errors.Join(os.WriteFile(log, []byte(text), 0o600), os.WriteFile(oom, []byte(oomMessage), 0o600)); err != nil {
		t.Fatal(err)
	}
	program := reserving(t, "1000000000")
	hangs := []string{"--", "sh", "-c", "echo > began; exec sleep 600"}
	list := []subject{
		{name: "run", args: []string{"run", "--json", "out.json", "--", program}, outputs: []string{"out.json"}, busy: append([]string{"run", "--json", "out.json"}, hangs...), soFar: true},
		{name: "fit", args: []string{"fit", "--json", "out.json", "--var", "B=1..8", "--", program}, outputs: []string{"out.json"}, busy: append([]string{"fit", "--json", "out.json", "--var", "B=1..8"}, hangs...), soFar: true},
		{name: "replay", args: []string{"replay", trace}, input: trace, busy: []string{"replay", "-"}, feed: trace},
		{name: "check", args: []string{"check", log}, input: log, busy: []string{"check", "-"}, feed: log},
		{name: "soak", args: []string{"soak", "--ops", "3000", "--area", "core"}, busy: []string{"soak", "--ops", "1000000000", "--area", "core"}, bar: true},
		{name: "record", args: []string{"record"}},
		{name: "explore", args: []string{"explore", "core_tiny"}, busy: []string{"explore", "core"}, bar: true},
		{name: "whatif", args: []string{"whatif", snapshot, "--settings", ""}, input: snapshot, busy: []string{"whatif", "-"}, feed: snapshot},
		{name: "whatif, error text", args: []string{"whatif", oom}, input: oom, busy: []string{"whatif", "-"}, feed: oom},
		{name: "report", args: []string{"report", snapshot, "--no-whatif", "-o", "page.html"}, input: snapshot, outputs: []string{"page.html"}, busy: []string{"report", "-", "-o", "page.html"}, feed: snapshot},
		{name: "report -o -", args: []string{"report", snapshot, "--no-whatif", "-o", "-"}, input: snapshot, busy: []string{"report", "-", "-o", "-"}, feed: snapshot},
		{name: "examine", busy: append([]string{"examine", "--patience", "10m"}, hangs...)},
		{name: "compare", args: []string{"compare", trace, "pytorch,expandable_segments:True", "--report", "page.html"}, input: trace, outputs: []string{"page.html"}, busy: []string{"compare", "-", "pytorch,expandable_segments:True", "--report", "page.html"}, feed: trace},
		{name: "completion", args: []string{"completion", "bash"}},
		{name: "version", args: []string{"version"}},
	}
	if python, err := exec.LookPath("python3"); err == nil {
		list = append(list, subject{name: "torch get", busy: []string{"torch", "get", "2.13.0"}, offline: []string{"torch", "get", "2.13.0"}, env: slowIndex(t)})
		list[slices.IndexFunc(list, func(s subject) bool { return s.name == "examine" })].args =
			[]string{"examine", "--level", "safe", "--ops", "800", "--", python, absolute(t, "../../tools/examine/testdata/drivers/driver.py")}
	}
	if found, err := torch.ForTests(t.TempDir()); err == nil {
		flags := []string{"torch", "--torch", found.Libraries, "--area", "core", "--ops"}
		list = append(list, subject{name: "torch", args: append(flags[:len(flags):len(flags)], "300"), busy: append(flags[:len(flags):len(flags)], "1000000000"), slow: true})
	}
	return list
}

// asked says that somebody has asked the index of slowIndex.
var asked atomic.Bool

// slowIndex is a package index that takes a request and never answers.
func slowIndex(t *testing.T) (variables []string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skipf("there is no network: %v", err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			asked.Store(true)
			defer c.Close()
		}
	}()
	return []string{"PIP_INDEX_URL=http://" + listener.Addr().String(), "PIP_CONFIG_FILE=/dev/null", "PIP_EXTRA_INDEX_URL=", "no_proxy=127.0.0.1", "GAUGEBLOCK_CACHE=" + t.TempDir()}
}

// A trial is one process of a command, in a folder of its own, with another for temporary files.
type trial struct {
	*exec.Cmd
	folder, temporary string
	stdout, stderr    bytes.Buffer
}

func newTrial(t *testing.T, args ...string) *trial {
	t.Helper()
	x := &trial{Cmd: process(args...), folder: t.TempDir(), temporary: t.TempDir()}
	x.Dir, x.Stdout, x.Stderr = x.folder, &x.stdout, &x.stderr
	x.Env = append(x.Env, "TMPDIR="+x.temporary)
	return x
}

// through lets another program start the command.
func (x *trial) through(t *testing.T, program string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("there is no %s", program)
	}
	x.Args = append(append([]string{program}, args...), x.Args...)
	x.Path = path
}

// status is the exit status as a shell has it.
func (x *trial) status() int {
	if w := x.ProcessState.Sys().(syscall.WaitStatus); w.Signaled() {
		return 128 + int(w.Signal())
	}
	return x.ProcessState.ExitCode()
}

// end runs the command to its end, and returns a cell of the table: the exit status. What must never be
// is an error: an output that is not whole, a temporary file that is left, a trace of a panic, an
// exit status without a word.
func (x *trial) end(t *testing.T, s subject, situation string) string {
	t.Helper()
	_ = x.Run()
	return x.ended(t, s, situation)
}

func (x *trial) ended(t *testing.T, s subject, situation string) string {
	t.Helper()
	status, said := x.status(), x.stderr.String()
	if strings.Contains(said, "goroutine ") || strings.Contains(said, "failed here") {
		t.Errorf("%s, %s: %s", s.name, situation, said)
	}
	if status < 128 && status != statusExact && strings.TrimSpace(said) == "" {
		t.Errorf("%s, %s: status %d, and no word", s.name, situation, status)
	}
	if left, err := os.ReadDir(x.temporary); err != nil || len(left) > 0 {
		t.Errorf("%s, %s: temporary files are left: %v, %v", s.name, situation, left, err)
	}
	for _, entry := range x.written(t) {
		whole := slices.Contains(s.outputs, entry) && x.isWhole(entry)
		if !whole || status != statusExact && !(s.soFar && status > 128) {
			t.Errorf("%s, %s: status %d, and %s is left", s.name, situation, status, entry)
		}
	}
	if status == statusExact && len(x.written(t)) < len(s.outputs) {
		t.Errorf("%s, %s: status 0, and no %v", s.name, situation, s.outputs)
	}
	return strconv.Itoa(status)
}

// written are the files that the command has made.
func (x *trial) written(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(x.folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "began" {
			names = append(names, e.Name())
		}
	}
	return names
}

// isWhole reports whether a page or an object of JSON has its end.
func (x *trial) isWhole(name string) bool {
	text, err := os.ReadFile(filepath.Join(x.folder, name))
	text = bytes.TrimSpace(text)
	return err == nil && (bytes.HasSuffix(text, []byte("</html>")) || bytes.HasSuffix(text, []byte("}")) || bytes.HasSuffix(text, []byte("]")))
}

// startBusy starts the command in the form that does not end, and waits until it is at work: its
// program has begun, it has read what there is, or has taken some processor time.
func (x *trial) startBusy(t *testing.T, s subject) {
	t.Helper()
	if x.SysProcAttr == nil {
		x.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	x.Env = append(x.Env, s.env...)
	asked.Store(false)
	atWork := func() bool { return x.processorTime() > 40 }
	switch {
	case s.feed != "":
		from, to := pipe(t)
		text, err := os.ReadFile(s.feed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(text[:min(len(text)-1, 2000)]); err != nil {
			t.Fatal(err)
		}
		x.Stdin = from
		atWork = func() bool {
			n, err := unix.IoctlGetInt(int(from.Fd()), unix.TIOCINQ)
			return err == nil && n == 0
		}
	case s.busy == nil: // it waits for somebody to read what it prints
		_, to := pipe(t)
		fill(t, to)
		x.Stdout = to
		atWork = func() bool { return true } // a signal that comes earlier ends it as well
	case s.slow: // it has made a folder for what it compiles
		atWork = func() bool {
			made, err := os.ReadDir(x.temporary)
			return err == nil && len(made) > 0
		}
	case s.env != nil: // the index has been asked
		atWork = func() bool { return asked.Load() }
	case slices.Contains(s.busy, "sh"):
		atWork = func() bool {
			_, err := os.Stat(filepath.Join(x.folder, "began"))
			return err == nil
		}
	}
	if err := x.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); !atWork(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(-x.Process.Pid, syscall.SIGKILL)
			t.Fatalf("%s does not begin: %s", s.name, &x.stderr)
		}
	}
}

// processorTime is that of the process so far, in hundredths of a second.
func (x *trial) processorTime() int {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(x.Process.Pid) + "/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	return user
}

// pipe is a pipe whose ends are closed when the test ends.
func pipe(t *testing.T) (from, to *os.File) {
	t.Helper()
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.Close(); to.Close() })
	return from, to
}

// fill writes to a pipe until it is full.
func fill(t *testing.T, to *os.File) {
	t.Helper()
	fd := int(to.Fd())
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for part := make([]byte, 4096); ; {
		if _, err := syscall.Write(fd, part); err == syscall.EAGAIN {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
}
