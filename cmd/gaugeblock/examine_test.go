package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/tools/examine"
)

// runExamine runs the command; the test is skipped where nothing can be examined.
func runExamine(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	status = run(append([]string{"examine"}, args...), strings.NewReader(""), &out, &errors)
	if text := errors.String(); strings.Contains(text, "compiler") || strings.Contains(text, "without cgo") {
		t.Skip(text)
	}
	return status, out.String(), errors.String()
}

// TestExamine: a program of the line protocol, as people and as programs read it.
func TestExamine(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	driver, dir := filepath.Join("..", "..", "tools", "examine", "testdata", "drivers", "driver.py"), t.TempDir()
	status, text, _ := runExamine(t, "--ops", "800", "--out", dir, "--", python, driver)
	if status != statusExact || !strings.HasPrefix(text, "contract: joined\nreached: safe (asked: caching)") {
		t.Errorf("status %d:\n%s", status, text)
	}
	status, text, _ = runExamine(t, "--ops", "800", "--level", "caching", "--out", dir, "--", python, driver)
	if status != statusDiffers || !strings.Contains(text, "SplitsAndCoalesces") {
		t.Errorf("status %d:\n%s", status, text)
	}
	status, text, _ = runExamine(t, "--ops", "800", "--level", "safe", "--out", dir, "--json", "--devices", "1", "--", python, driver, "broken")
	var s examine.Summary
	if err := json.Unmarshal([]byte(text), &s); err != nil || status != statusDiffers || len(s.Violations) != 1 {
		t.Fatalf("status %d, %v:\n%s", status, err, text)
	}
	v := s.Violations[0]
	if v.Rule != "NoHazard" || len(v.Program) != 5 || len(v.Files) != 1 || s.Operations < 800 {
		t.Errorf("%s", text)
	}
	for argument, want := range map[string]string{"broken": "1 violations", "": "0 violations"} {
		_, text, _ = runExamine(t, "--replay", v.Files[0], "--", python, driver, argument)
		if !strings.Contains(text, "replayed one program: "+want) || strings.Contains(text, "reached") || !strings.Contains(text, "the program of the trace, 5 of whose 5 operations were performed") {
			t.Errorf("%q: want %s:\n%s", argument, want, text)
		}
	}
	status, text, _ = runExamine(t, "--replay", v.Files[0], "--contract", "joined", "--devices", "3", "--", python, driver, "broken")
	if status != statusDiffers {
		t.Errorf("status %d:\n%s", status, text)
	}
	if status, text, _ = runExamine(t, "--replay", filepath.Join(dir, "none.jsonl"), "--", python, driver); status != statusBadInput {
		t.Errorf("status %d:\n%s", status, text)
	}
}

// TestViolationsAreNotForGit: the default directory of violations is one that git ignores, in every checkout.
func TestViolationsAreNotForGit(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	driver := absolute(t, "../../tools/examine/testdata/drivers/driver.py")
	t.Chdir(t.TempDir())
	for range 2 {
		if status, text, _ := runExamine(t, "--ops", "800", "--level", "safe", "--", python, driver, "broken"); status != statusDiffers {
			t.Fatalf("status %d:\n%s", status, text)
		}
	}
	if out, err := exec.Command("git", "init", "-q").CombinedOutput(); err != nil {
		t.Skipf("there is no git: %s", out)
	}
	if out, err := exec.Command("git", "status", "--porcelain").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// TestExamineBadFlags: what makes no sense.
func TestExamineBadFlags(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--ops", "0", "x.so"}, {"--level", "high", "x.so"}, {"--devices", "0", "x.so"}, {"--patience", "0s", "x.so"}, {"nowhere.so"},
		{"--", "/no/such/driver"},
	} {
		var out, errors bytes.Buffer // no compiler is needed to refuse these
		if status := run(append([]string{"examine"}, args...), strings.NewReader(""), &out, &errors); status != statusBadInput {
			t.Errorf("%q ends with %d\n%s", args, status, out.String())
		}
	}
}
