package refinement

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage grow to four times of what is in use: nearly all states of the model are dropped
// at once.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
