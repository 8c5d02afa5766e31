package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/tests/torch"
)

// compareTorch runs the command; the test is skipped where PyTorch cannot be had.
func compareTorch(t *testing.T, args ...string) (status int, stdout string) {
	t.Helper()
	libraries := filepath.Join("..", "..", "..", "shared", "torch", "lib")
	var out, errors bytes.Buffer
	args = append([]string{"torch", "--torch", libraries, "--out", t.TempDir()}, args...)
	status = run(args, strings.NewReader(""), &out, &errors)
	if status == statusBadInput && strings.Contains(errors.String(), "PyTorch's allocator: ") {
		t.Skip(errors.String())
	}
	if status == statusBadInput {
		t.Fatal(errors.String())
	}
	return status, out.String()
}

func TestTorch(t *testing.T) {
	status, text := compareTorch(t, "--ops", "21000", "--area", "core", "--area", "checkpoint")
	last := strings.TrimSpace(text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:])
	if status != statusExact || !strings.HasSuffix(last, ", 0 unexplained") {
		t.Errorf("status %d:\n%s", status, text)
	}
	if !strings.Contains(text, "A restore frees blocks") {
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
		{"--ops", "0"}, {"--workers", "0"}, {"--keep", "0"}, {"--area", "none"}, {"--settings", "none:1"}, {"--torch", "/nowhere"},
	} {
		var out, errors bytes.Buffer
		if status := run(append([]string{"torch"}, args...), strings.NewReader(""), &out, &errors); status != statusBadInput {
			t.Errorf("%q ends with %d\n%s", args, status, &out)
		}
	}
}
