//go:build unix

package examine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/conformance"
)

// TestEndOf: the status that the system gives is told as a signal or as a status.
func TestEndOf(t *testing.T) {
	for status, want := range map[uint64]string{
		0: "it exited with status 0", 3 << 8: "it exited with status 3", 6: "it was ended by the signal aborted",
		11: "it was ended by the signal segmentation fault", 0x80 | 11: "it was ended by the signal segmentation fault",
	} {
		if got := endOf(status); got != want {
			t.Errorf("%#x: %q, want %q", status, got, want)
		}
	}
}

// TestCannotBeStarted: a file that the system does not start.
func TestCannotBeStarted(t *testing.T) {
	program := filepath.Join(t.TempDir(), "driver")
	if err := os.WriteFile(program, []byte{0, 1, 2, 3}, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Search{Command: []string{program}, Level: conformance.Safe, Operations: 10}.Run()
	if err == nil || !strings.Contains(err.Error(), "exec format error") {
		t.Errorf("the error is %v", err)
	}
}

// TestIsToldOfUses: a program is told of uses if its contract has the word, whatever else it has.
func TestIsToldOfUses(t *testing.T) {
	for contract, want := range map[string]bool{"": false, "joined": false, "record_stream": true, "record_stream,zero_bytes": true, "align=512 record_stream": true} {
		c := &command{says: answerLine{Contract: contract}}
		if c.records() != want {
			t.Errorf("%q: %v", contract, !want)
		}
	}
}
