package examine

import (
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/spec/trace"
)

// TestRecorded: a driver with record_stream, in the ways in which it can be right or wrong.
func TestRecorded(t *testing.T) {
	python, script := tool(t, "python3"), filepath.Join("testdata", "drivers", "recorded.py")
	for _, test := range []struct{ name, contract, argument, broken string }{
		{"waits", "", "", ""},
		{"another device is current", "record_stream,any_device", "", ""},
		{"polls", "", "polls", ""},
		{"does not ask", "", "ignores", "NoHazard"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			report, err := Search{
				Command: []string{python, script, test.argument}, Contract: test.contract, Level: conformance.Safe, Operations: 3000, Directory: dir,
			}.Run()
			if err != nil {
				t.Fatal(err)
			}
			checkReport(t, report, strings.Fields(test.broken), 8)
			for i := range report.Violations {
				v := &report.Violations[i]
				if !strings.Contains(v.Found, "was recorded before lifetime") || strings.Contains(v.Found, "RecordStream(") {
					t.Errorf("the use was recorded: %s", v.Found)
				}
				if _, _, end, err := trace.ReadFile(v.File); err != nil || end == nil {
					t.Errorf("%s: %v, end %v", v.File, err, end)
				}
				for argument, want := range map[string]int{test.argument: 1, "": 0} {
					again, err := Search{Command: []string{python, script, argument}, Level: conformance.Safe, Again: v.File}.Run()
					if err != nil || len(again.Violations) != want || len(again.Searched) != 1 {
						t.Errorf("again, %q: %v, %v", argument, err, again)
					}
				}
			}
		})
	}
}

// TestTriedAgain: a free that fails at the end of a program and is tried again is no double free
// in the report.
func TestTriedAgain(t *testing.T) {
	report, err := Search{
		Command: []string{tool(t, "python3"), filepath.Join("testdata", "drivers", "recorded.py"), "stuck"}, Level: conformance.Safe, Operations: 6000,
	}.Run()
	if err != nil {
		t.Fatal(err)
	}
	checkReport(t, report, []string{"NothingIsStuck"}, 100)
	if text := report.String(); !strings.Contains(text, "NothingIsStuck") || !strings.Contains(text, " (tried again, since it failed)") {
		t.Error(text)
	}
}
