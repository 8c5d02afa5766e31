package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"gaugeblock/tools/torch"
)

// asCommand is a variable that makes the test program run as the command.
const asCommand = "GAUGEBLOCK_AS_COMMAND"

// TestMain lets tests start this program anew, as the command, and "gaugeblock torch" as a
// worker.
func TestMain(m *testing.M) {
	torch.Work()
	switch os.Getenv(asCommand) {
	case "run":
		main()
	case "measure":
		os.Exit(measure(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// process is the command in a process of its own.
func process(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asCommand+"=run")
	return c
}

// measuredProcess is process, started by a small one in between, which prints the peak of the
// command's memory, in bytes, as the last line: the peak that the system tells counts what the
// process that started the command had in use.
func measuredProcess(args ...string) *exec.Cmd {
	c := process(args...)
	c.Env = append(c.Env, asCommand+"=measure")
	return c
}

// measure is the process in between.
func measure(args []string) int {
	c := process(args...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	_ = c.Run()
	fmt.Println(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10)
	return c.ProcessState.ExitCode()
}
