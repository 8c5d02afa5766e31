package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gaugeblock/internal/race"
)

// TestMaxMemory: a file of 20 KB that becomes 20 MB of lists, each of which takes far more
// memory, is refused by both commands, with what the flag allows in the message.
func TestMaxMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bomb.pickle.gz")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	io.WriteString(w, "\x80\x04"+strings.Repeat("]", 20<<20)+".")
	w.Close()
	if err := os.WriteFile(file, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"whatif", file, "--max-memory", "64MiB"},
		{"report", "-o", "-", file, "--max-memory", "64MiB"},
		{"whatif", "-", "--max-memory", "64MiB"},
	} {
		var out, problem bytes.Buffer
		status := run(args, bytes.NewReader(packed.Bytes()), &out, &problem)
		if status != 2 || out.Len() > 0 || !strings.Contains(problem.String(), "67108864 bytes of memory") {
			t.Errorf("%q: status %d, %d bytes, %s", args, status, out.Len(), problem.String())
		}
	}
}

// writeManyStreams writes a trace in which each of many streams has a block, whose work is under
// way.
func writeManyStreams(t *testing.T, file string, streams int) {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"format":"allocator-trace","version":2,"total_memory":1099511627776,"streams":[0`)
	for i := 1; i < streams; i++ {
		fmt.Fprintf(&b, ",%d", i)
	}
	b.WriteString("]}\n")
	for i := range streams {
		base := (i + 1) << 21
		fmt.Fprintf(&b, `{"op":"malloc","id":%d,"size":512,"stream":%d,"addr":%d,"events":[["segment_alloc",%d,2097152,%d],["alloc",%d,512,%d]]}`+"\n", i, i, base, base, i, base, i)
		fmt.Fprintf(&b, `{"op":"kernel","stream":%d,"writes":[[%d,0,0]]}`+"\n", i, i)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestMemoryIsBounded: the peak of the memory of a process is little above --max-memory, though it
// is looked at only after a collection of garbage.
func TestMemoryIsBounded(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector takes memory of its own")
	}
	const limit, above = 32 << 20, 64 << 20
	for command, streams := range map[string]int{"check": 40_000, "replay": 20_000, "whatif": 8_000} {
		file := filepath.Join(t.TempDir(), "streams.jsonl")
		writeManyStreams(t, file, streams)
		c := measuredProcess(command, "--max-memory", "32MiB", file)
		var stdout, stderr bytes.Buffer
		c.Stdout, c.Stderr = &stdout, &stderr
		_ = c.Run()
		lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
		peak, err := strconv.ParseUint(lines[len(lines)-1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if c.ProcessState.ExitCode() != statusBadInput || !strings.Contains(stderr.String(), "streams.jsonl:") || !strings.Contains(stderr.String(), "this needs more than 33554432 bytes (32.00 MiB) of memory") {
			t.Errorf("%s: status %d, %s", command, c.ProcessState.ExitCode(), &stderr)
		}
		if peak > limit+above {
			t.Errorf("%s: %d MiB were in use", command, peak>>20)
		}
		t.Logf("%s: %d MiB, %v", command, peak>>20, c.ProcessState.UserTime())
	}
}

// TestLimitInOtherUnits: a limit whose unit is a power of 1000, or that has none, is asked about.
func TestLimitInOtherUnits(t *testing.T) {
	for text, want := range map[string]string{
		"24GiB": "", "24G": "--limit=24G is 22.35 GiB, by units of 1000: was 24GiB meant?\n",
		"24gb":       "--limit=24gb is 22.35 GiB, by units of 1000: was 24GiB meant?\n",
		"512 MB":     "--limit=512MB is 488.28 MiB, by units of 1000: was 512MiB meant?\n",
		"25165824":   "--limit has no unit: were bytes meant? 25165824 bytes (24.00 MiB) are compared.\n",
		"25165824B":  "",
		"25165824 b": "", "24gi": "", "none": "",
	} {
		var l byteLimit
		if err := l.UnmarshalText([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := l.question("--limit"); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
