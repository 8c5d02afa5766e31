package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSignalEndsExamine: a signal ends the command, the program that it examines, though that hangs
// and ignores signals, and nothing of either is left.
func TestSignalEndsExamine(t *testing.T) {
	for sent, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		notIgnored(t, sent)
		temporary, out := t.TempDir(), t.TempDir()
		said := filepath.Join(t.TempDir(), "pid")
		c := process("examine", "--out", out, "--patience", "10m", "--", "sh", "-c", `trap "" TERM INT HUP; echo $$ > "$0"; while :; do sleep 0.1; done`, said)
		c.Env = append(c.Env, "TMPDIR="+temporary)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		pid := 0
		for deadline := time.Now().Add(time.Minute); pid == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			text, _ := os.ReadFile(said)
			pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		if err := c.Process.Signal(sent); err != nil {
			t.Fatal(err)
		}
		err := c.Wait()
		if got := c.ProcessState.ExitCode(); got != want {
			t.Errorf("%v: status %d, want %d: %v", sent, got, want, err)
		}
		for _, dir := range []string{temporary, out} {
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%v: left %v, %v", sent, left, err)
			}
		}
		allEnd(t, sent.String(), pid)
	}
}

// notIgnored lets the processes that the test starts not ignore a signal, though this one may have
// been started to ignore it.
func notIgnored(t *testing.T, sent os.Signal) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, sent)
	t.Cleanup(func() { signal.Stop(caught) })
}

// TestIgnoredSignal: a command that was started to ignore signals, as by nohup or in the background of a script, goes
// on after them, and so does the program that it has started.
func TestIgnoredSignal(t *testing.T) {
	notIgnored(t, syscall.SIGTERM)
	program := []string{"--", "sh", "-c", `echo > "$0"; exec sleep 600`}
	for _, test := range []struct {
		args   []string
		status int // after SIGTERM
	}{
		{[]string{"examine", "--out", t.TempDir(), "--patience", "10m"}, 143},
		{[]string{"run"}, 143},
		{[]string{"fit", "--var", "B=1..8"}, 130},
	} {
		began := filepath.Join(t.TempDir(), "began")
		c := process(append(append(test.args, program...), began)...)
		c.Args = append([]string{"sh", "-c", `trap "" HUP INT; exec "$0" "$@"`}, c.Args...)
		c.Path = "/bin/sh"
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(began)
		err := errors.Join(c.Process.Signal(syscall.SIGHUP), c.Process.Signal(os.Interrupt))
		time.Sleep(200 * time.Millisecond) // for the command to end, if it does
		if !isRunning(c.Process.Pid) {
			t.Errorf("%s has ended", test.args[0])
		}
		err = errors.Join(err, c.Process.Signal(syscall.SIGTERM))
		_ = c.Wait()
		if err != nil || c.ProcessState.ExitCode() != test.status {
			t.Errorf("%s: status %d, want %d: %v", test.args[0], c.ProcessState.ExitCode(), test.status, err)
		}
	}
}

// waitFor waits until there is a file, or for a minute.
func waitFor(path string) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
}

// TestSignalThatDoesNotEnd: a signal for another listener has no cleanup.
func TestSignalThatDoesNotEnd(t *testing.T) {
	asked := make(chan os.Signal, 1)
	end := atSignal(func() { t.Error("cleanup") }, func(s os.Signal) bool { asked <- s; return false })
	defer end()
	for _, sent := range []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM} {
		notIgnored(t, sent)
		if err := syscall.Kill(os.Getpid(), sent); err != nil {
			t.Fatal(err)
		}
		if got := <-asked; got != sent {
			t.Errorf("%v is %v", sent, got)
		}
	}
}

// TestSignalBeforeTheEnd: a signal that has arrived is heard, also if the command comes to its end while another one is
// heard. It is sent to a thread, which has it when the call returns; one for the process may come to another thread later.
func TestSignalBeforeTheEnd(t *testing.T) {
	notIgnored(t, syscall.SIGTERM)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	send := func() {
		if err := unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		heard, first, goOn := 0, make(chan struct{}), make(chan struct{})
		end := atSignal(func() {}, func(os.Signal) bool {
			if heard++; heard == 1 {
				close(first)
				<-goOn
			}
			return false
		})
		send()
		<-first
		send()
		time.AfterFunc(time.Millisecond, func() { close(goOn) })
		if end(); heard != 2 {
			t.Fatalf("heard %d of 2", heard)
		}
	}
}

// allEnd waits until processes have ended, as what a signal ends does at once. One that goes on is ended.
func allEnd(t *testing.T, what string, pids ...int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); slices.ContainsFunc(pids, isRunning); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			pids = slices.DeleteFunc(pids, func(pid int) bool { return !isRunning(pid) })
			t.Errorf("%s: processes that it has started go on: %v", what, pids)
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
	}
}

// isRunning reports whether there is a process, other than one that has ended and was not waited
// for.
func isRunning(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// TestTerminatedExploration: SIGTERM is like Ctrl-C for a search: the summary is printed, and what
// was explored is kept.
func TestTerminatedExploration(t *testing.T) {
	dir := t.TempDir()
	c := process("explore", "core", "--dir", dir, "--checkpoint=0s", "--json")
	var stdout bytes.Buffer
	c.Stdout = &stdout
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitForCheckpoints(t, filepath.Join(dir, "core", "checkpoint"), 3)
	err := errors.Join(c.Process.Signal(syscall.SIGTERM), c.Wait())
	var summary explored
	if wrong := json.Unmarshal(stdout.Bytes(), &summary); wrong != nil || !summary.Stopped || c.ProcessState.ExitCode() != statusInterrupted {
		t.Errorf("%v, %v, %s", err, wrong, &stdout)
	}
}
