package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
		!strings.Contains(errors, "states --max-memory=800 KiB does not suffice; the same command goes on from the last checkpoint in "+dir+" with more") {
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

// TestExploreShards: several processes explore together, and gaugeblock merge adds up their
// results: they are those of one process.
func TestExploreShards(t *testing.T) {
	const shards = 3
	dir := t.TempDir()
	var files []string
	var all sync.WaitGroup
	for i := 1; i <= shards; i++ {
		file := filepath.Join(t.TempDir(), "result.json")
		files = append(files, file)
		all.Go(func() {
			c := process("explore", "pools_tiny", "core_tiny", "--dir", dir, "--json", "--workers=1", fmt.Sprintf("--shard=%d/%d", i, shards))
			out, err := c.Output()
			if err == nil {
				err = os.WriteFile(file, out, 0o666)
			}
			if err != nil {
				t.Errorf("shard %d: %v\n%s", i, err, out)
			}
		})
	}
	all.Wait()
	out := merging(t, statusExact, "", files...)
	var got []explored
	for line := range strings.Lines(out) {
		var e explored
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if d := cmp.Diff(exploredJSON(t, statusExact, "pools_tiny", "core_tiny"), got, sameExploration); d != "" {
		t.Error(d)
	}
	if out := merging(t, statusBadInput, "", files[0], files[2]); !strings.Contains(out, "there is shard 3 of 3 where shard 2 of 3 should be") {
		t.Error(out)
	}
	if out := merging(t, statusBadInput, "", files[0], files[1]); !strings.Contains(out, "shard 3 of 3 is missing") {
		t.Error(out)
	}
}

// merging runs gaugeblock merge, and returns all that it prints.
func merging(t *testing.T, wantStatus int, stdin string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if status := run(append([]string{"merge"}, args...), strings.NewReader(stdin), &out, &out); status != wantStatus {
		t.Fatalf("merge ends with %d, not %d\n%s", status, wantStatus, &out)
	}
	return out.String()
}

// TestMerge: results of soak and torch are added up, and the status is that of the worst.
func TestMerge(t *testing.T) {
	_, first := soak(t, "--ops", "800", "--shard", "1/2", "--area", "core")
	_, second := soak(t, "--ops", "800", "--shard", "2/2", "--area", "core")
	var sums [3]soakSummary
	for i, text := range []string{first, second, merging(t, statusExact, first+second, "-")} {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &sums[i]); err != nil {
			t.Fatal(err)
		}
	}
	if sums[2].Operations != sums[0].Operations+sums[1].Operations || sums[2].Labels["op free"] != sums[0].Labels["op free"]+sums[1].Labels["op free"] {
		t.Errorf("%+v and %+v are %+v", sums[0], sums[1], sums[2])
	}
	torch := `{"pytorch":"2.11","operations":10,"programs":2,"seconds":1,"cpu_seconds":1,"listed":{"a row":3},"unexplained":null}` + "\n"
	if out := merging(t, statusExact, torch+torch, "-"); !strings.Contains(out, `"operations":20,"programs":4`) || !strings.Contains(out, `{"a row":6}`) {
		t.Error(out)
	}
	for _, c := range []struct {
		text, want string
		status     int
	}{
		{strings.Replace(torch, "null", `[{"area":"core","seed":1,"what":"x","program":[]}]`, 1), `"what":"x"`, statusDiffers},
		{`{"operations":1,"violations":1,"labels":{},"seconds":1,"next_seed":2}`, `"violations":1`, statusDiffers},
		{`{"operations":1,"violations":0,"labels":{},"seconds":1,"next_seed":2,"stopped":true}`, `"stopped":true`, statusInterrupted},
		{`{"config":"x","states":1,"edges":1,"ok":false,"violation":"P","checked":[]}`, `"violation":"P"`, statusDiffers},
		{`{"config":"x","states":1,"edges":1,"ok":false,"stopped":true,"checked":[]}`, `"stopped":true`, statusInterrupted},
		{`{"config":"x","shard":"1/2","checked":["P"]}` + "\n" + `{"config":"x","shard":"2/2","checked":["Q"]}`, "different properties", statusBadInput},
		{`{"config":"x","checked":[]}` + "\n" + `{"config":"x","checked":[]}`, "shard 1 of 1 where shard 2 of 1", statusBadInput},
		{torch + strings.Replace(torch, "2.11", "2.10", 1), "-: line 2: compares with PyTorch 2.10", statusBadInput},
		{`{"something":"else"}`, "is no result", statusBadInput},
		{"nothing", "there is no result", statusBadInput},
	} {
		if out := merging(t, c.status, c.text, "-"); !strings.Contains(out, c.want) {
			t.Errorf("%s: %s", c.text, out)
		}
	}
}
