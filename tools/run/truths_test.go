package run

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// A difference from the H200 that is known: what it is, and its reason.
type difference struct {
	percent float64 // how far a peak may be off
	reason  string
}

// watchdog: the README of the recordings has a run of the H200 with as much as here, too.
const watchdog = "NCCL's watchdog thread frees by the clock: on the H200 earlier or later than here, where it sees the same in each run"

// known are the differences that are known, by the beginning of the truth's name.
var known = map[string]difference{
	"ddp.default.limit":   {percent: 3, reason: watchdog},
	"ddp.default.nolimit": {percent: 15, reason: watchdog},
}

// A comparison is of a program with a truth of it.
type comparison struct {
	got, want           truth
	allocated, reserved float64 // by how many percent the peaks are off
}

// judge says what is wrong, and the reason of a difference that is known.
func (c *comparison) judge(name string) (wrong, reason string) {
	allowed := difference{percent: 1}
	for beginning, d := range known {
		if strings.HasPrefix(name, beginning) {
			allowed = d
		}
	}
	here, there := c.got.OOM != nil, c.want.OOM != nil
	switch {
	case here != there:
		return fmt.Sprintf("out of memory: %v here, %v on the H200", here, there), ""
	case max(c.allocated, -c.allocated, c.reserved, -c.reserved) > allowed.percent:
		return "a peak is too far off", ""
	}
	return "", allowed.reason
}

// What is listed as known is no failure, and everything else is.
func TestJudge(t *testing.T) {
	full := "out of memory"
	for _, c := range []struct {
		name         string
		here, there  *string
		off          float64
		wrong, known bool
	}{
		{"lstm.default.limit", nil, nil, 0.9, false, false},
		{"lstm.default.limit", nil, nil, -1.1, true, false},
		{"lstm.default.limit", &full, nil, 0, true, false},
		{"lstm.default.limit", &full, &full, 0, false, false},
		{"ddp.default.limit", nil, nil, 2.9, false, true},
		{"ddp.default.limit", nil, nil, -3.1, true, false},
		{"ddp.default.nolimit", nil, nil, -14, false, true},
		{"ddp.default.nolimit", &full, nil, 0, true, false},
	} {
		wrong, reason := (&comparison{truth{OOM: c.here}, truth{OOM: c.there}, c.off, 0}).judge(c.name)
		if (wrong != "") != c.wrong || (reason != "") != c.known {
			t.Errorf("%+v: wrong %q, reason %q", c, wrong, reason)
		}
	}
}

// compares runs a program as a truth of it was recorded.
func compares(t *testing.T, python, truthFile string, program ...string) *comparison {
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
	for _, file := range []string{out, out + ".json"} {
		if text, err := os.ReadFile(file); err == nil {
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &comparison{got, want, off(got.PeakAllocated, want.PeakAllocated), off(got.PeakReserved, want.PeakReserved)}
}

// convolutional are the programs with convolutions.
var convolutional = []string{"densenet121", "resnet18", "timm_resnet", "vgg16"}

// The table of docs/run.md: programs whose figures were recorded on an H200.
func TestTruths(t *testing.T) {
	python, folder := pythons(t)[0], shared(t)
	var rows []string
	hasCuDNN := hasCuDNN(python)
	check := func(file string, program ...string) {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			if kind, _, _ := strings.Cut(name, "."); slices.Contains(convolutional, kind) && !hasCuDNN {
				t.Skip("cuDNN's wheel is not installed")
			}
			c := compares(t, python, file, program...)
			wrong, reason := c.judge(name)
			row := fmt.Sprintf("| %s | %+.3f %% | %+.3f %% | %s |", name, c.allocated, c.reserved, reason)
			rows = append(rows, row)
			if wrong != "" {
				t.Errorf("%s: %s", wrong, row)
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
	t.Log("\n| program | allocated | reserved | known difference |\n|---|---|---|---|\n" + strings.Join(rows, "\n"))
}
