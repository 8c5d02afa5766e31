package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
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
