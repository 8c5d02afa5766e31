package examine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaugeblock/conformance"
	"gaugeblock/fakegpu/cuda"
)

// TestDrivers: the drivers of tools/examine/README.md, in three languages, come out clean, and the
// fault that each has on demand is found. They are short enough to be read.
func TestDrivers(t *testing.T) {
	dir := filepath.Join("testdata", "drivers")
	for _, test := range []struct {
		source  string
		command func(t *testing.T, source, program string) []string
	}{
		{"driver.py", func(t *testing.T, source, _ string) []string {
			return []string{tool(t, "python3"), source}
		}},
		{"driver.cc", func(t *testing.T, source, program string) []string {
			compiler, err := cuda.Compiler("CXX", "c++", "g++", "clang++")
			if err != nil {
				t.Skip("there is no C++ compiler")
			}
			return made(t, program, exec.Command(compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-o", program, source))
		}},
		{"driver.rs", func(t *testing.T, source, program string) []string {
			return made(t, program, exec.Command(tool(t, "rustc"), "-D", "warnings", "-o", program, source))
		}},
	} {
		t.Run(test.source, func(t *testing.T) {
			source := filepath.Join(dir, test.source)
			text, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			if lines := strings.Count(string(text), "\n"); lines >= 80 {
				t.Errorf("%s has %d lines", source, lines)
			}
			command := test.command(t, source, filepath.Join(t.TempDir(), "driver"))
			checkReport(t, examineCommand(t, 3000, command...), nil, 0)
			checkReport(t, examineCommand(t, 3000, append(command, "broken")...), []string{"NoHazard"}, 5)
		})
	}
}

// TestZeroBytes: a request says that it is of 0 bytes, and a free that it is of the null pointer.
func TestZeroBytes(t *testing.T) {
	driver := []string{tool(t, "sh"), "-c", `while read -r line; do
		case $line in
		*begin*) echo '{"contract": "joined,zero_bytes"}' ;;
		*malloc*'"size":0,'*) echo '{"ptr": 0}' ;;
		*malloc*'"size":'*) echo '{"error": "no"}' ;;
		*free*'"ptr":0,'*'"size":0,'*) echo '{}' ;;
		*) echo "not understood: $line" >&2; exit 1 ;;
		esac
	done`}
	for _, v := range examineCommand(t, 300, driver...).Violations {
		if v.Rule.Name == "NoCrashes" {
			t.Error(v.String())
		}
	}
}

func examineCommand(t *testing.T, operations int, command ...string) *Report {
	t.Helper()
	report, err := Search{Command: command, Level: conformance.Safe, Operations: operations}.Run()
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// tool is the path of a command; the test is skipped where it is not, or does not work: rustc may be
// there without a toolchain.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil && name == "rustc" {
		err = exec.Command(path, "--version").Run()
	}
	if err != nil {
		t.Skip("there is no " + name)
	}
	return path
}

func made(t *testing.T, program string, build *exec.Cmd) []string {
	t.Helper()
	if err := cuda.Run(build); err != nil {
		t.Fatal(err)
	}
	return []string{program}
}

// TestBadDrivers: a program that ends, hangs, or does not speak the protocol.
func TestBadDrivers(t *testing.T) {
	shell := tool(t, "sh")
	const begins = `read line; echo '{"contract":"joined"}'; `
	for _, test := range []struct{ script, problem string }{
		{`exit 3`, "it ended: exit status 3"},
		{`read line; echo hello`, `it answered "hello" to "begin", which is no line of the protocol`},
		{`read line; echo '{"call":"launch"}'; sleep 5`, `it made the call "launch", which does not exist`},
		{`read line; echo '{"contract":"kindly"}'; cat`, `the word "kindly" is not known`},
		{begins + `read line; echo oh no >&2; exit 1`, "it ended: exit status 1; it wrote: oh no"},
		{begins + `read line; while :; do echo '{"call":"mem_info"}'; read answer; sleep 0.02; done`, "the call did not return within 300ms"},
		{`while read line; do echo '{"contract":"joined"}'; done`, `its answer to "malloc" has neither ptr nor error`},
		{begins + `read line; sleep 60`, "the call did not return within 300ms"},
	} {
		patience := time.Minute // of a busy machine
		if strings.Contains(test.problem, "300ms") {
			patience = 300 * time.Millisecond
		}
		t.Run(test.problem, func(t *testing.T) {
			t.Parallel() // those that hang use no processor
			report, err := Search{
				Command: []string{shell, "-c", test.script}, Level: conformance.Safe, Operations: 10, Patience: patience,
			}.Run()
			text := fmt.Sprint(err)
			if err == nil {
				text = report.String()
			}
			if !strings.Contains(text, test.problem) {
				t.Errorf("%s: want %s:\n%s", test.script, test.problem, text)
			}
		})
	}
}

// TestEndsAtOnce: an examination of a program that ends at every malloc is over soon, and says so.
func TestEndsAtOnce(t *testing.T) {
	const script = `while read line; do case $line in *begin*) echo '{"contract":"joined"}';; *) exit 1;; esac; done`
	done := 0
	report, err := Search{
		Command: []string{tool(t, "sh"), "-c", script}, Level: conformance.Safe, Operations: 60_000, Devices: 1, Progress: func(n int) { done = n },
	}.Run()
	if err != nil {
		t.Fatal(err)
	}
	checkReport(t, report, []string{"NoCrashes"}, 1)
	if text := report.String(); done == 0 || done > 6000 || !strings.Contains(text, "of these not searched further, because the last programs ended within a few operations: core, ") {
		t.Errorf("%d operations:\n%s", done, text)
	}
}
