package run

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/internal/checkout"
)

// A truth is what a program of ../shared/programs did on an H200.
type truth struct {
	Settings      string  `json:"settings"`
	Limit         uint64  `json:"limit"`
	OOM           *string `json:"oom"`
	PeakAllocated uint64  `json:"peak_allocated"`
	PeakReserved  uint64  `json:"peak_reserved"`
}

// shared is the folder of programs with truths beside the checkout.
func shared(t *testing.T) string {
	t.Helper()
	root, err := checkout.Root()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(filepath.Dir(root), "shared", "programs")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("there are no truths in ../shared/programs")
	}
	return folder
}

// off is by how many percent a figure differs from the truth.
func off(got, want uint64) float64 { return 100 * (float64(got) - float64(want)) / float64(want) }

// compares runs a program as a truth of it was recorded, and gives a row of the table.
func compares(t *testing.T, python, truthFile string, program ...string) (row string, allocated, reserved float64) {
	t.Helper()
	var want, got truth
	out := filepath.Join(t.TempDir(), "result")
	if err := readJSON(truthFile, &want); err != nil {
		t.Fatal(err)
	}
	for i := range program {
		program[i] = strings.ReplaceAll(strings.ReplaceAll(program[i], "LIMIT", fmt.Sprint(want.Limit)), "OUT", out)
	}
	h200, _ := gpus.Find("h200")
	runs(t, Options{Command: append([]string{python}, program...), GPU: h200, Settings: want.Settings}, 0)
	name := strings.TrimSuffix(filepath.Base(truthFile), ".json")
	for _, file := range []string{out, out + ".json"} {
		if text, err := os.ReadFile(file); err == nil {
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
		}
	}
	if (got.OOM == nil) != (want.OOM == nil) {
		t.Errorf("%s: out of memory on one of the two only", name)
	}
	allocated, reserved = off(got.PeakAllocated, want.PeakAllocated), off(got.PeakReserved, want.PeakReserved)
	return fmt.Sprintf("| %s | %+.3f %% | %+.3f %% |", name, allocated, reserved), allocated, reserved
}

// The table of docs/run.md: programs whose figures were recorded on an H200.
func TestTruths(t *testing.T) {
	python, folder := pythons(t)[0], shared(t)
	var rows []string
	check := func(file string, program ...string) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			row, allocated, reserved := compares(t, python, file, program...)
			rows = append(rows, row)
			near := 1.0 // percent
			if strings.HasPrefix(filepath.Base(file), "hf_llama") {
				near = 1.5 // the order of its frees hangs on addresses of the host, on the H200 too
			}
			if max(allocated, -allocated, reserved, -reserved) > near {
				t.Error(row)
			}
		})
	}
	models, err := filepath.Glob(filepath.Join(folder, "models", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range models {
		parts := strings.Split(filepath.Base(file), ".")
		check(file, filepath.Join(folder, "models.py"), parts[0], parts[1], parts[2], "OUT")
	}
	programs, err := filepath.Glob(filepath.Join(folder, "*.*limit.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range programs {
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		check(file, filepath.Join(folder, "programs.py"), name, "LIMIT", "OUT")
	}
	t.Log("\n| program | allocated | reserved |\n|---|---|---|\n" + strings.Join(rows, "\n"))
}
