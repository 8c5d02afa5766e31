// Command release builds what users install without Go, in a folder, from the module in the current
// one:
//
//	go run ./tools/release wheels DIR 1.2.0      Python wheels
//	go run ./tools/release binaries DIR 1.2.0    the command alone, with checksums
//
// Only the wheel for Linux on x86-64 has the libraries of the fake GPU, which needs a C compiler
// and is built on such a system; its tag says the release of glibc that its files ask for. The others
// are cross-compiled.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"gaugeblock/fakegpu/cuda"
)

// A platform is what is built for. Tag is that of wheels; of the platform with the fake GPU it
// follows from the files.
type platform struct {
	system, processor string
	tag               string
	fake              bool
}

// suffix is how the names of programs end.
func (p platform) suffix() string {
	if p.system == "windows" {
		return ".exe"
	}
	return ""
}

// platforms are those for which the command builds. A program that Go links statically runs on every
// Linux since 2.17 of glibc, the oldest that pip knows for both processors. The macOS of a tag is the
// oldest for which Go builds.
var platforms = []platform{
	{"linux", "amd64", "", true},
	{"linux", "arm64", "manylinux_2_17_aarch64", false},
	{"darwin", "amd64", "macosx_12_0_x86_64", false},
	{"darwin", "arm64", "macosx_12_0_arm64", false},
	{"windows", "amd64", "win_amd64", false},
	{"windows", "arm64", "win_arm64", false},
}

// version is what PEP 440 calls a release, a candidate or a local version.
var version = regexp.MustCompile(`^\d+(\.\d+)*((a|b|rc)\d+)?(\+[a-z0-9]+(\.[a-z0-9]+)*)?$`)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run builds what the arguments ask for, and returns the exit status.
func run(args []string, say io.Writer) int {
	if len(args) == 3 && version.MatchString(args[2]) {
		if build := map[string]func(dir, version string) error{"wheels": wheels, "binaries": binaries}[args[0]]; build != nil {
			if err := build(args[1], args[2]); err != nil {
				fmt.Fprintln(say, err)
				return 1
			}
			return 0
		}
	}
	fmt.Fprintln(say, "usage: release wheels|binaries DIR VERSION")
	return 2
}

// wheels builds a wheel for each platform.
func wheels(dir, version string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range platforms {
		if err := p.wheel(dir, version); err != nil {
			return err
		}
	}
	return nil
}

// binaries builds the command for each platform, and SHA256SUMS. The go command makes the folder.
func binaries(dir, version string) error {
	var sums strings.Builder
	for _, p := range platforms {
		name := fmt.Sprintf("gaugeblock-%s-%s-%s%s", version, p.system, p.processor, p.suffix())
		if err := p.command(filepath.Join(dir, name), version); err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// command builds the command gaugeblock: without C, so that it needs no library of the system, but
// beside the fake GPU, which needs glibc anyway.
func (p platform) command(to, version string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.released="+version, "-o", to, "./cmd/gaugeblock")
	cgo := "CGO_ENABLED=0"
	if p.fake {
		cgo = "CGO_ENABLED=1"
	}
	c.Env = append(os.Environ(), cgo, "GOOS="+p.system, "GOARCH="+p.processor)
	return cuda.Run(c)
}
