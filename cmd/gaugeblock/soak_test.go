package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// soak runs the command and returns the summary, which is the last line.
func soak(t *testing.T, args ...string) (summary soakSummary, stdout string) {
	t.Helper()
	var out, errors bytes.Buffer
	args = append([]string{"soak", "--out", t.TempDir()}, args...)
	if status := run(args, strings.NewReader(""), &out, &errors); status != statusExact {
		t.Fatalf("%q ends with %d\n%s%s", args, status, &out, &errors)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	decoder := json.NewDecoder(strings.NewReader(lines[len(lines)-1]))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&summary); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return summary, out.String()
}

func TestSoak(t *testing.T) {
	whole, text := soak(t, "--ops", "3000", "--area", "core", "--area", "pools")
	if whole.Operations < 3000 || whole.Violations != 0 || whole.Labels["hit split"] == 0 || whole.NextSeed < 2 {
		t.Errorf("the summary is %+v", whole)
	}
	if !strings.Contains(text, "core: ") || !strings.Contains(text, "pools: ") {
		t.Errorf("no line for each area:\n%s", text)
	}
	again, text := soak(t, "--ops", "3000", "--area", "core", "--area", "pools", "--json")
	if strings.Count(text, "\n") != 1 {
		t.Errorf("--json prints more than the summary:\n%s", text)
	}
	if again.Operations != whole.Operations || again.Labels["op malloc"] != whole.Labels["op malloc"] {
		t.Errorf("the same seed did something else: %+v and %+v", again, whole)
	}
}

// TestSoakJobs: how many areas are tested at a time changes nothing of the output.
func TestSoakJobs(t *testing.T) {
	var texts []string
	for _, jobs := range []string{"1", "3"} {
		_, text := soak(t, "--ops", "3000", "--area", "core", "--area", "pools", "--area", "streams", "--jobs", jobs)
		texts = append(texts, regexp.MustCompile(`"seconds":[^,]*|\([0-9.]+ s\)`).ReplaceAllString(text, ""))
	}
	if texts[0] != texts[1] || strings.Count(texts[0], "\n") != 4 {
		t.Errorf("%s\nand with three workers\n%s", texts[0], texts[1])
	}
}

// TestSoakShards: the parts of a run are different programs.
func TestSoakShards(t *testing.T) {
	first, _ := soak(t, "--ops", "1200", "--shard", "1/2", "--area", "core")
	second, _ := soak(t, "--ops", "1200", "--shard", "2/2", "--area", "core")
	if first.Labels["op malloc"] == second.Labels["op malloc"] && first.Labels["op free"] == second.Labels["op free"] {
		t.Error("both halves did the same")
	}
}

func TestSoakSettings(t *testing.T) {
	s, _ := soak(t, "--ops", "2000", "--area", "core", "--settings", "expandable_segments:True")
	if s.Labels["map"] == 0 || s.Labels["miss split"] != 0 {
		t.Errorf("the settings were not in force: %v", s.Labels)
	}
}

func TestSoakBadFlags(t *testing.T) {
	for _, bad := range []struct{ flag, value, says string }{
		{"--ops", "0", "at least one"},
		{"--shard", "3/2", "is not a part"},
		{"--shard", "0/2", "is not a part"},
		{"--shard", "1", "is not a part"},
		{"--area", "nowhere", "no such area"},
		{"--settings", "nonsense", "--settings"},
		{"--seed", "-1", "--seed"},
		{"--out", "soak_test.go", "not a directory"},
	} {
		var out, errors bytes.Buffer
		status := run([]string{"soak", bad.flag + "=" + bad.value}, strings.NewReader(""), &out, &errors)
		if status != statusBadInput || !strings.Contains(errors.String(), bad.says) || out.Len() > 0 {
			t.Errorf("%s=%s: status %d, %q, %q", bad.flag, bad.value, status, &out, &errors)
		}
	}
}

// TestSeedsThatFailed are programs in which a long soak found something.
func TestSeedsThatFailed(t *testing.T) {
	for _, c := range []struct{ area, seed, what string }{
		{"capture", "350055", "an event of a use before a capture, recorded in it by a free outside, cannot be queried: captures/eager-use"},
	} {
		var stdout, stderr bytes.Buffer
		if status := run([]string{"soak", "--area", c.area, "--seed", c.seed, "--ops", "100", "--json", "--out", t.TempDir()}, nil, &stdout, &stderr); status != statusExact {
			t.Errorf("%s: status %d, %s%s", c.what, status, &stdout, &stderr)
		}
	}
}
