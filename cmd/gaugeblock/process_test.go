package main

import (
	"os"
	"os/exec"
	"testing"

	"gaugeblock/tests/torch"
)

// asCommand is a variable that makes the test program run as the command.
const asCommand = "GAUGEBLOCK_AS_COMMAND"

// TestMain lets tests start this program anew, as the command, and "gaugeblock torch" as a
// worker.
func TestMain(m *testing.M) {
	torch.Work()
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// process is the command in a process of its own.
func process(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asCommand+"=1")
	return c
}
