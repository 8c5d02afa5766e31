package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// mistaken gives large requests an address that is not theirs.
type mistaken struct{ *alloc.Allocator }

func (a *mistaken) Malloc(r spec.Request) (spec.Ptr, error) {
	p, err := a.Allocator.Malloc(r)
	if err == nil && r.Bytes > 2<<20 {
		p += 512
	}
	return p, err
}

// TestSoakFinds: a violation is told with a short program, which is written as a trace, and is in the summary.
func TestSoakFinds(t *testing.T) {
	right := tested
	tested = func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		a, err := right(driver, h)
		if err != nil {
			return nil, err
		}
		return &mistaken{a.(*alloc.Allocator)}, nil
	}
	t.Cleanup(func() { tested = right })
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	status := run([]string{"soak", "--ops", "300", "--area", "core", "--area", "streams", "--out", dir, "--json"}, nil, &stdout, &stderr)
	var s soakSummary
	if err := json.Unmarshal(stdout.Bytes(), &s); err != nil || status != statusDiffers || s.Violations != 2 || len(s.Counterexamples) != 2 || s.Stopped {
		t.Fatalf("status %d, %v: %s%s", status, err, &stdout, &stderr)
	}
	for i, area := range []string{"core", "streams"} {
		c := s.Counterexamples[i]
		h, ops, _, err := trace.ReadFile(c.File)
		if err != nil || c.Area != area || c.Length != len(ops) || len(ops) > 3 || c.FoundAfter < 1 || c.Class == "" || c.Detail == "" || h.Family != area || filepath.Dir(c.File) != dir {
			t.Errorf("%+v, %v", c, err)
		}
		if !strings.Contains(stderr.String(), "gaugeblock replay -vv "+c.File+"\n") || !strings.Contains(stderr.String(), c.Class) {
			t.Errorf("%s", &stderr)
		}
	}
	stderr.Reset()
	stdout.Reset()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := soakCommand{Ops: 300, Area: []string{"core"}, Out: filepath.Join(file, "none"), Shard: shard{1, 1}, Jobs: 1}
	env := &environment{stdout: &stdout, stderr: &stderr}
	if err := c.Run(env); err != nil || env.status != statusDiffers || !strings.Contains(stdout.String(), `"file":""`) || !strings.Contains(stderr.String(), "not a directory") || strings.Contains(stderr.String(), "replay -vv") {
		t.Errorf("%v, status %d: %s%s", err, env.status, &stdout, &stderr)
	}
}

// TestEdgeConfigurations: those that are named, or all.
func TestEdgeConfigurations(t *testing.T) {
	all, err := new(compareCommand).edgeConfigurations()
	if err != nil || len(all) < 20 {
		t.Fatalf("%d, %v", len(all), err)
	}
	for names, says := range map[string]string{"ties core_tiny": "", "tie": `there is no configuration "tie" whose steps can be taken, did you mean "ties"?`, "core_weak_retry": "there is no configuration"} {
		c := compareCommand{Config: strings.Fields(names)}
		list, err := c.edgeConfigurations()
		if says == "" && (err != nil || len(list) != len(c.Config)) || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %d, %v", names, len(list), err)
		}
	}
}
