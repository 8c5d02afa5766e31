package conformance

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage grow to four times of what is in use: the tests drop nearly all that they make.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
