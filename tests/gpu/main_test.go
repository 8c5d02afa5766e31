package gpu

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"gaugeblock/cudaimpl"
	"gaugeblock/spec"
)

// summary is what GAUGEBLOCK_SUMMARY gets: plain go test output says the same at
// greater length.
type summary struct {
	Device  string   `json:"device"` // empty without one
	Driver  string   `json:"driver"` // the newest CUDA it serves
	Tests   int      `json:"tests"`  // that were run, subtests on each device counted
	Passed  int      `json:"passed"`
	Failed  []string `json:"failed"`
	Skipped []string `json:"skipped"`
	Seconds float64  `json:"seconds"`
}

var (
	results   = summary{Failed: []string{}, Skipped: []string{}}
	resultsMu sync.Mutex
)

// note counts a test in the summary.
func note(t *testing.T) {
	t.Cleanup(func() {
		resultsMu.Lock()
		defer resultsMu.Unlock()
		switch {
		case t.Skipped():
			results.Skipped = append(results.Skipped, t.Name())
			return
		case t.Failed():
			results.Failed = append(results.Failed, t.Name())
		default:
			results.Passed++
		}
		results.Tests++
	})
}

func TestMain(m *testing.M) {
	if err := loadFakeLibraries(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(otherProcess(role))
	}
	// As many queues as there can be, so that few streams share one: see shadow_test.go.
	_ = os.Setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32")
	began := time.Now()
	status := m.Run()
	results.Seconds = time.Since(began).Seconds()
	if path := os.Getenv("GAUGEBLOCK_SUMMARY"); path != "" {
		if err := writeSummary(path); err != nil {
			fmt.Fprintln(os.Stderr, "summary:", err)
			status = 1
		}
	}
	os.Exit(status)
}

func writeSummary(path string) error {
	if gpu, err := cudaimpl.Open(); err == nil {
		properties, err := gpu.Properties(spec.Device(0))
		if err != nil {
			return err
		}
		results.Device, results.Driver = properties.Name, gpu.DriverVersion()
		if err := gpu.Close(); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(&results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
