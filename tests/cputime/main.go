// Times runs tests and says how much processor time those of each package took, which other work
// on the machine hardly changes, and how long they took.
//
//	go run ./tests/cputime ./...               # make times
//	go run ./tests/cputime -busy 8 ./...       # with eight busy loops beside it: make times BUSY=8
//	go run ./tests/cputime -each ./model/...   # each test by itself
//
// With -each the exit status is 1 if a test takes more than a minute of processor time; else it is
// that of go test.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// limit is how much processor time a test may take.
const limit = time.Minute

// taken is what the tests of a package, or one of them, took.
type taken struct {
	Package   string
	Test      string `json:",omitempty"`
	Processor time.Duration
	Elapsed   time.Duration
}

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] { // go test runs each test binary by this program
		case "record":
			os.Exit(record(os.Args[2], os.Args[3] == "true", os.Args[4:]))
		case "spin":
			for sum := 0; ; sum++ {
			}
		}
	}
	busy := flag.Int("busy", 0, "busy loops beside the tests")
	each := flag.Bool("each", false, "run each test by itself")
	flag.Parse()
	status, err := run(*busy, *each, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "times:", err)
		status = 1
	}
	os.Exit(status)
}

func run(busy int, each bool, packages []string) (status int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	file, err := os.CreateTemp("", "times")
	if err != nil {
		return 1, err
	}
	file.Close()
	defer os.Remove(file.Name())
	for range busy {
		loop := exec.Command(self, "spin")
		loop.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := loop.Start(); err != nil {
			return 1, err
		}
		defer func() {
			_ = loop.Process.Kill()
			_ = loop.Wait()
		}()
	}
	args := append([]string{"test", "-count=1", "-exec", fmt.Sprintf("%s record %s %v", self, file.Name(), each)}, packages...)
	tests := exec.Command("go", args...)
	tests.Stdout, tests.Stderr = os.Stdout, os.Stderr
	start := time.Now()
	if err := tests.Run(); err != nil {
		status = 1
	}
	elapsed := time.Since(start)
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return 1, err
	}
	root, err := os.Getwd()
	if err != nil {
		return 1, err
	}
	if slow := table(text, root+"/"); slow > 0 && each {
		fmt.Printf("%d tests take more than %v\n", slow, limit)
		status = 1
	}
	fmt.Printf("all: %.0f s\n", elapsed.Seconds())
	return status, nil
}

// table prints what was recorded, the longest first, and counts tests above the limit.
func table(text []byte, root string) (slow int) {
	var all []taken
	for line := range bytes.Lines(text) {
		var t taken
		if json.Unmarshal(line, &t) == nil {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b taken) int { return cmp.Compare(b.Processor, a.Processor) })
	var sum time.Duration
	for _, t := range all {
		fmt.Printf("%8.1f s of processor time %8.1f s  %s\n", t.Processor.Seconds(), t.Elapsed.Seconds(), strings.TrimSpace(strings.TrimPrefix(t.Package, root)+" "+t.Test))
		sum += t.Processor
		if t.Processor > limit {
			slow++
		}
	}
	fmt.Printf("%8.1f s of processor time together\n", sum.Seconds())
	return slow
}

// record runs a test binary, and appends what it took to a file.
func record(file string, each bool, command []string) int {
	name, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if !each {
		return perform(file, taken{Package: name}, command)
	}
	list, err := exec.Command(command[0], "-test.list", ".").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	status := 0
	for test := range strings.Lines(string(list)) {
		if test = strings.TrimSpace(test); !strings.HasPrefix(test, "Benchmark") {
			status = max(status, perform(file, taken{Package: name, Test: test}, append(slices.Clone(command), "-test.run=^"+test+"$")))
		}
	}
	return status
}

func perform(file string, t taken, command []string) int {
	c := exec.Command(command[0], command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	start := time.Now()
	err := c.Run()
	t.Elapsed = time.Since(start)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	t.Processor = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	line, err := json.Marshal(t)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer f.Close()
	fmt.Fprintf(f, "%s\n", line)
	return c.ProcessState.ExitCode()
}
