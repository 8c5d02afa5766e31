package check_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"gaugeblock/tools/check"
	"gaugeblock/tools/reference"
)

// The shims of tools/check/README.md, each with an allocator to log.

const shims = "testdata/shims"

// TestShims runs each and checks the log that it writes.
func TestShims(t *testing.T) {
	binary := func(compiler string, arguments ...string) func(t *testing.T) *exec.Cmd {
		return func(t *testing.T) *exec.Cmd {
			file := filepath.Join(t.TempDir(), "demo")
			if out, err := exec.Command(compiler, append(arguments, "-o", file)...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			return exec.Command(file)
		}
	}
	python := func(*testing.T) *exec.Cmd { return exec.Command("python3", "-B", filepath.Join(shims, "demo.py")) }
	for _, test := range []struct {
		name, needs string
		demo        func(t *testing.T) *exec.Cmd
		arguments   []string
		want        []check.Kind
	}{
		{"Python", "python3", python, nil, []check.Kind{check.Hazard}},
		{"Python, sound", "python3", python, []string{"sound"}, nil},
		{"C++", "g++", binary("g++", "-std=c++17", "-Wall", "-Werror", filepath.Join(shims, "demo.cpp")), nil, []check.Kind{check.Departure, check.DoubleFree}},
		{"Rust", "rustc", binary("rustc", "--edition", "2021", filepath.Join(shims, "demo.rs")), nil, []check.Kind{check.Leak}},
	} {
		t.Run(test.name, func(t *testing.T) {
			// not there, or not set up
			if err := exec.Command(test.needs, "--version").Run(); err != nil {
				t.Skipf("there is no %s here", test.needs)
			}
			log := filepath.Join(t.TempDir(), "demo.csv")
			demo := test.demo(t)
			demo.Args = append(append(demo.Args, log), test.arguments...)
			if out, err := demo.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			result, err := check.File(log, check.Options{Reference: reference.New})
			if err != nil {
				t.Fatal(err)
			}
			var kinds []check.Kind
			for _, v := range result.Violations {
				kinds = append(kinds, v.Kind)
			}
			if !slices.Equal(kinds, test.want) {
				t.Errorf("found %q, want %q:\n%v", kinds, test.want, result)
			}
		})
	}
}
