package gpu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"gaugeblock/alloc"
	"gaugeblock/cudaimpl"
	"gaugeblock/spec"
)

// Memory shared between two processes. The other process is this same program, started
// anew with a role; it is told what to open, says what it has read there, and leaves
// something for this one to read. (The fake device has its own processes, and its own
// tests of them.)

const roleVariable = "GAUGEBLOCK_GPU_TEST_ROLE"

// loan is what the other process is told.
type loan struct {
	Settings string
	Handles  []spec.SharedHandle // of two allocations
	Bytes    uint64
	Lines    string // of a conversation
}

// receipt is what it answers.
type receipt struct {
	Read  []byte // the first byte of each allocation, if all its bytes are equal
	Said  string // with the answers
	Error string
}

func TestProcesses(t *testing.T) {
	for _, settings := range []string{"", "expandable_segments:True"} {
		t.Run(settings, func(t *testing.T) {
			within(t, openReal(t), func(l *lab) { shareWithAnother(l, settings) })
		})
	}
}

func shareWithAnother(l *lab, settings string) {
	// The other process takes copies of this one's file descriptors.
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
	a := l.reference(l.device, settings)
	terms := loan{Settings: settings, Bytes: 3 * spec.MiB}
	var lent []spec.Range
	for i := range 2 {
		r := l.obtain(a, 0, 0, terms.Bytes)
		l.must(l.Fill(0, 0, r, byte(7+i)))
		lent = append(lent, r)
		handle, err := a.ShareHandle(r.Ptr)
		l.must(err)
		terms.Handles = append(terms.Handles, handle)
	}
	l.must(l.SynchronizeDevice(0))
	if read := lend(l.T, &terms); !bytes.Equal(read, []byte{7, 8}) {
		l.Errorf("the other process has read %v", read)
	}
	for i, r := range lent {
		l.must(l.has(0, 0, r, byte(27+i)))
		l.must(a.Free(r.Ptr))
	}
}

// lend lets the other process open what is lent, and returns what it has read.
func lend(t *testing.T, l *loan) []byte {
	t.Helper()
	r := askOther(t, "borrower", l)
	if r.Error != "" {
		t.Fatalf("the other process: %s", r.Error)
	}
	return r.Read
}

// askOther starts the other process in a role.
func askOther(t *testing.T, role string, l *loan) (r receipt) {
	t.Helper()
	told, err := json.Marshal(l)
	must(t, err)
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), roleVariable+"="+role)
	if l == nil || len(l.Handles) == 0 {
		// on the fake libraries: a machine of its own
		other.Env = append(other.Env, "GAUGEBLOCK_CUDA_MACHINE=")
	}
	other.Stdin, other.Stderr = bytes.NewReader(told), os.Stderr
	said, err := other.Output()
	if err != nil {
		t.Fatalf("the other process: %v: %s", err, said)
	}
	must(t, json.Unmarshal(said, &r))
	return r
}

// otherProcess is the other process's program; it returns the status to exit with.
func otherProcess(role string) int {
	var (
		l loan
		r receipt
	)
	err := json.NewDecoder(os.Stdin).Decode(&l)
	switch {
	case err != nil:
	case role == "borrower":
		r.Read, err = borrow(&l)
	case role == "talker":
		r.Said, err = talkElsewhere(l.Lines)
	case role == "loser":
		err = loseContext()
	default:
		err = fmt.Errorf("there is no role %q", role)
	}
	if err != nil {
		r.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(&r); err != nil {
		return 1
	}
	return 0
}

// borrow opens what is lent, reads it, writes it, and closes it.
func borrow(l *loan) (read []byte, err error) {
	gpu, err := cudaimpl.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, gpu.Close()) }()
	a, err := alloc.New(gpu, alloc.Options{Settings: l.Settings})
	if err != nil {
		return nil, err
	}
	for i, h := range l.Handles {
		opened, err := a.OpenHandle(0, h.Handle)
		if err != nil {
			return read, err
		}
		memory := spec.Range{Ptr: opened.Base() + spec.Ptr(h.Offset), Bytes: l.Bytes}
		data, err := gpu.ReadBack(0, 0, memory)
		if err != nil {
			return read, err
		}
		if err := expect(data, data[0]); err != nil {
			return read, err
		}
		read = append(read, data[0])
		if err := gpu.Fill(0, 0, memory, byte(27+i)); err != nil {
			return read, err
		}
		if err := errors.Join(gpu.SynchronizeDevice(0), opened.Close()); err != nil {
			return read, err
		}
	}
	if leaks := gpu.Leaks(); len(leaks) > 0 {
		return read, fmt.Errorf("left on the device: %q", leaks)
	}
	return read, nil
}
