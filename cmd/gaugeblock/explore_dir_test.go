package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sameExploration compares results but for the time and what depends on --dir.
var sameExploration = cmpopts.IgnoreFields(explored{}, "Seconds", "Collision")

// TestExploreKilled: a process that is killed leaves a directory from which another goes on.
// The result is that of one that was not killed.
func TestExploreKilled(t *testing.T) {
	want := exploredJSON(t, statusExact, "checkpoint_streams")
	dir := t.TempDir()
	flags := []string{"explore", "checkpoint_streams", "--dir", dir, "--checkpoint=0s", "--json"}
	for range 3 {
		c := process(flags...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		waitForCheckpoints(t, filepath.Join(dir, "checkpoint_streams", "checkpoint"), 3)
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err == nil {
			t.Log("it had ended before it was killed")
		}
	}
	if d := cmp.Diff(want, exploredJSON(t, statusExact, flags[1:]...), sameExploration); d != "" {
		t.Error(d)
	}
}

// waitForCheckpoints waits until a file was replaced some times.
func waitForCheckpoints(t *testing.T, path string, times int) {
	var last string
	for deadline := time.Now().Add(time.Minute); times > 0 && time.Now().Before(deadline); time.Sleep(100 * time.Microsecond) {
		if text, err := os.ReadFile(path); err == nil && string(text) != last {
			last = string(text)
			times--
		}
	}
	if strings.Contains(last, `"finished": true`) {
		t.Log("it has explored everything")
	}
}

// TestExploreMemory: when the memory does not suffice the command says so, with a status of
// its own. With more memory, and the same directory, it goes on.
func TestExploreMemory(t *testing.T) {
	dir := t.TempDir()
	out, errors := exploring(t, statusExhausted, "core_tiny", "--dir", dir, "--max-memory=800KiB")
	if out != "" || !strings.Contains(errors, "core_tiny: after ") ||
		!strings.Contains(errors, "states --max-memory=800 KiB is not enough; the same command goes on from the last checkpoint in "+dir+" with more") {
		t.Errorf("%s%s", out, errors)
	}
	got := exploredJSON(t, statusExact, "core_tiny", "--dir", dir, "--max-memory=1GiB")
	if d := cmp.Diff(exploredJSON(t, statusExact, "core_tiny"), got, sameExploration); d != "" {
		t.Error(d)
	}
	if _, errors := exploring(t, statusExhausted, "core_tiny", "--max-memory=800KiB"); !strings.Contains(errors, "--dir keeps the states on a disk") {
		t.Error(errors)
	}
}

// TestExploreDiskFull: when a file cannot grow the command says which, with the status of one that
// needs more, and goes on when it can: also if there was no checkpoint yet.
func TestExploreDiskFull(t *testing.T) {
	for blocks, file := range map[int]string{0: "level-000001", 8: "states"} {
		dir := t.TempDir()
		flags := []string{"core_tiny", "--dir", dir, "--checkpoint=0s", "--json"}
		c := process(append([]string{"explore"}, flags...)...)
		c.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, blocks)}, c.Args...)
		c.Path = "/bin/sh"
		var stdout, stderr bytes.Buffer
		c.Stdout, c.Stderr = &stdout, &stderr
		err := c.Run()
		if c.ProcessState.ExitCode() != statusExhausted || stdout.Len() > 0 ||
			!strings.Contains(stderr.String(), filepath.Join(dir, "core_tiny", file)+": file too large") || !strings.Contains(stderr.String(), "goes on from the last checkpoint") ||
			strings.Contains(stderr.String(), "already closed") {
			t.Errorf("%v: %s%s", err, &stdout, &stderr)
		}
		got := exploredJSON(t, statusExact, flags...)
		if d := cmp.Diff(exploredJSON(t, statusExact, "core_tiny"), got, sameExploration); d != "" {
			t.Error(d)
		}
	}
}
