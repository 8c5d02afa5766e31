package history

import (
	"os"
	"path/filepath"
	"testing"

	"gaugeblock/tests/tla/runner"
	"gaugeblock/tla"
)

// readFile reads a history: "make tla-trace HISTORY=FILE".
func readFile(t *testing.T, file string) []Event {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	events, err := Read(in, file)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// followWithTLC fails if TLC finds that a history is no behaviour of the specification.
func followWithTLC(t *testing.T, events []Event) {
	t.Helper()
	jar, err := filepath.Abs(*tools)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, tla.Files); err != nil {
		t.Fatal(err)
	}
	module := filepath.Join(dir, "TraceData.tla")
	if err := os.Chmod(module, 0o600); err != nil { // embedded files are read-only
		t.Fatal(err)
	}
	if err := os.WriteFile(module, Module(events), 0o600); err != nil {
		t.Fatal(err)
	}
	summary, _, err := runner.TLC{Tools: jar, Dir: dir, Scratch: dir}.Check("MCTraceCore.cfg", "MCTraceCore")
	switch {
	case err != nil:
		t.Fatal(err)
	case summary.Verdict != "ok":
		t.Errorf("%s does not hold, after %d events of %d", summary.Verdict, summary.Trace-1, len(events))
	case summary.States != len(events)+1:
		t.Errorf("TLC has followed %d of %d events", summary.States-1, len(events))
	}
}
