package torch

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// scratch is a directory that is there while tests run.
var scratch string

func TestMain(m *testing.M) {
	performAlone()
	makeMistake()
	standIn()
	Work()
	var err error
	if scratch, err = os.MkdirTemp("", "gaugeblock-torch-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	if err := os.RemoveAll(scratch); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	syscall.Exit(status) // tests have run PyTorch's allocator in this process: see end
}
