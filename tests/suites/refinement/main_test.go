package refinement

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets the heap grow to several times of what is in use before garbage is collected. Nearly
// all states of the model are dropped at once, and collecting them takes a quarter of the time else.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
