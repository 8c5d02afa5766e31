package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/internal/race"
	"gaugeblock/tools/torch"
	"gaugeblock/tools/torch/binary"
)

// compareTorch runs the command; the test is skipped where PyTorch cannot be had.
func compareTorch(t *testing.T, args ...string) (status int, stdout string) {
	t.Helper()
	found, err := torch.ForTests(t.TempDir())
	if err != nil {
		t.Skip(err)
	}
	var out, problems bytes.Buffer
	args = append([]string{"torch", "--torch", found.Libraries, "--out", t.TempDir()}, args...)
	status = run(args, strings.NewReader(""), &out, &problems)
	if status == statusBadInput && strings.Contains(problems.String(), "PyTorch's allocator: ") {
		t.Skip(problems.String())
	}
	if status == statusBadInput {
		t.Fatal(problems.String())
	}
	return status, out.String()
}

// buildTorchOnce lets the searches of a test copy what the first of them has built.
func buildTorchOnce(t *testing.T) {
	first := ""
	build := buildTorch
	buildTorch = func(o binary.Options) error {
		if first != "" {
			return errors.Join(os.RemoveAll(o.Work), os.CopyFS(o.Work, os.DirFS(first)))
		}
		err := build(o)
		if err == nil {
			first = t.TempDir()
			err = os.CopyFS(first, os.DirFS(o.Work))
		}
		return err
	}
	t.Cleanup(func() { buildTorch = build })
}

func TestTorch(t *testing.T) {
	if race.Enabled {
		t.Skip("builds the adaptor; tools/torch has the same search")
	}
	buildTorchOnce(t)
	status, text := compareTorch(t, "--ops", "21000", "--area", "core", "--area", "checkpoint")
	last := strings.TrimSpace(text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:])
	if status != statusExact || !strings.HasSuffix(last, ", 0 unexplained") {
		t.Errorf("status %d:\n%s", status, text)
	}
	if !strings.Contains(text, "order/restore") {
		t.Errorf("the rows are not listed:\n%s", text)
	}
	_, text = compareTorch(t, "--ops", "2000", "--area", "core", "--settings", "expandable_segments:True", "--json")
	var report torch.Report
	if err := json.Unmarshal([]byte(text), &report); err != nil || report.PyTorch == "" || report.Operations < 2000 || len(report.Unexplained) > 0 {
		t.Errorf("%v: %s", err, text)
	}
	status, text = compareTorch(t, "--edges", "--config", "ties", "--config", "pools_tiny")
	if lines := strings.Split(strings.TrimSpace(text), "\n"); status != statusExact || !strings.HasPrefix(text, "ties: 25 states, 90 of 90 edges, ") || !strings.HasSuffix(lines[len(lines)-1], " edges taken, 0 differences unexplained") {
		t.Errorf("status %d:\n%s", status, text)
	}
	status, text = compareTorch(t, "--edges", "--config", "ties", "--json")
	var edges torch.EdgeReport
	if err := json.Unmarshal([]byte(text), &edges); err != nil || status != statusExact || edges.Edges != 90 || edges.Taken != 90 {
		t.Errorf("status %d, %v: %s", status, err, text)
	}
}

// TestTorchAgainst: a build has no differences from itself.
func TestTorchAgainst(t *testing.T) {
	if race.Enabled {
		t.Skip("builds the adaptor; tools/torch has the same search")
	}
	found, err := torch.ForTests(t.TempDir())
	if err != nil {
		t.Skip(err)
	}
	buildTorchOnce(t)
	for _, args := range [][]string{{}, {"--json"}} {
		var out, problems bytes.Buffer
		args = append([]string{"torch", "--against", "--ops", "300", "--area", "core", "--out", t.TempDir(), found.Libraries, found.Libraries}, args...)
		status := run(args, strings.NewReader(""), &out, &problems)
		if strings.Contains(problems.String(), "PyTorch's allocator: ") {
			t.Skip(problems.String())
		}
		if text := out.String(); status != statusExact || !strings.HasPrefix(text, "PyTorch ") && !strings.HasPrefix(text, `{"`) || problems.Len() > 0 {
			t.Errorf("%q: status %d, %s%s", args, status, text, &problems)
		}
	}
	for _, wrong := range []string{filepath.Join(t.TempDir(), "none"), "2.99"} {
		if status := run([]string{"torch", "--against", found.Libraries, wrong}, strings.NewReader(""), io.Discard, io.Discard); status != statusBadInput {
			t.Errorf("against %s: status %d", wrong, status)
		}
	}
}

// TestTorchGet: a release that is in the cache is not fetched.
func TestTorchGet(t *testing.T) {
	found, err := torch.ForTests(t.TempDir())
	if err != nil || os.Getenv("TORCH") != "" {
		t.Skip("no release is in the cache: ", err)
	}
	var out, problems bytes.Buffer
	status := run([]string{"torch", "get", "2.11"}, strings.NewReader(""), &out, &problems)
	folder := strings.TrimSuffix(found.Libraries, "/lib")
	if text := out.String(); status != statusExact || !strings.HasPrefix(text, "PyTorch 2.11.") || !strings.HasSuffix(text, ": was there, in "+folder+"\n") || problems.Len() > 0 {
		t.Errorf("status %d, %s%s (%s)", status, text, &problems, found.Libraries)
	}
	if status := run([]string{"torch", "get", "2.11"}, strings.NewReader(""), failingWriter{}, io.Discard); status != statusBadInput {
		t.Errorf("nobody takes the output: status %d", status)
	}
}

func TestTorchBadFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--ops", "0"}, {"--workers", "0"}, {"--keep", "0"}, {"--area", "none"}, {"--settings", "none:1"}, {"--torch", "/nowhere"}, {"--torch", "2.99"}, {"get"}, {"get", "1.13"},
	} {
		var out, problems bytes.Buffer
		if status := run(append([]string{"torch"}, args...), strings.NewReader(""), &out, &problems); status != statusBadInput {
			t.Errorf("%q ends with %d\n%s", args, status, &out)
		}
	}
}
