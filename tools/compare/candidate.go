package compare

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gaugeblock/fakegpu/cuda"
	"gaugeblock/internal/quote"
	"gaugeblock/snapshot/history"
	"gaugeblock/tools/examine"
	"gaugeblock/upstream"
)

//go:embed testdata/async.cc
var asyncSource string

// MallocAsync is the name of the driver's own pool.
const MallocAsync = "cudaMallocAsync"

// Candidate is an allocator that is compared.
type Candidate struct {
	Name string // as it was written

	// of PyTorch's allocator, which the reference is in its place
	pytorch  bool
	release  *upstream.Release // nil: that of the record
	settings *history.Settings // nil: those of the record

	search examine.Search // of all others
}

// ParseCandidate reads one of
//
//	pytorch, pytorch:2.15, pytorch,expandable_segments:True, pytorch:2.15,SETTINGS
//	cudaMallocAsync
//	a shared library, as "gaugeblock examine" takes it; libx.so:my_malloc,my_free names its functions
//	driver:COMMAND ARGUMENTS, a program that speaks the line protocol
func ParseCandidate(text string) (c Candidate, err error) {
	c.Name = text
	if rest, is := strings.CutPrefix(text, "pytorch"); is && (rest == "" || rest[0] == ':' || rest[0] == ',') {
		return c, c.parsePyTorch(rest)
	}
	if line, is := strings.CutPrefix(text, "driver:"); is {
		if c.search.Command = strings.Fields(line); len(c.search.Command) == 0 {
			return c, fmt.Errorf("%q names no program", text)
		}
		return c, nil
	}
	if text == MallocAsync {
		return c, nil
	}
	path, functions, named := strings.Cut(text, ":")
	if base := filepath.Base(path); !strings.HasSuffix(base, ".so") && !strings.Contains(base, ".so.") {
		return c, fmt.Errorf("%s is no allocator: it is one of pytorch[:RELEASE][,SETTINGS], %s, a shared library (.so), and driver:COMMAND", quote.Text(text), MallocAsync)
	}
	c.search.Library = path
	if named {
		var both bool
		if c.search.Malloc, c.search.Free, both = strings.Cut(functions, ","); !both {
			return c, fmt.Errorf("%s: two functions are named behind the colon, as in lib.so:my_malloc,my_free", quote.Text(text))
		}
	}
	_, err = c.search.Functions()
	return c, err
}

// parsePyTorch reads what stands behind "pytorch".
func (c *Candidate) parsePyTorch(rest string) error {
	c.pytorch = true
	name, settings, set := strings.Cut(rest, ",")
	if name != "" {
		v, err := upstream.OfVersion(name[1:])
		if err != nil {
			return err
		}
		c.release = &v.Release
	}
	if !set {
		return nil
	}
	release := upstream.Newest()
	if c.release != nil {
		release = *c.release
	}
	s, err := history.ParseSettings(settings, release)
	if err != nil {
		return err
	}
	if err := s.Comparable(); err != nil {
		return err
	}
	c.settings = &s
	return nil
}

// needsLibraries reports whether the fake GPU's libraries have to be built.
func (c *Candidate) needsLibraries() bool { return !c.pytorch && c.search.Command == nil }

// Build makes in a directory what the candidates need, if they need anything.
func Build(candidates []Candidate, dir string) error {
	for _, c := range candidates {
		if c.needsLibraries() {
			return examine.Build(dir)
		}
	}
	return nil
}

// open starts the candidate, with what Build has made in a directory.
func (c *Candidate) open(dir string, patience time.Duration) (*examine.Subject, error) {
	s := c.search
	s.Build, s.Patience = dir, patience
	if c.Name == MallocAsync {
		var err error
		if s.Library, err = buildAsync(dir); err != nil {
			return nil, err
		}
	}
	return s.Open()
}

// buildAsync builds a library that asks the driver's pool.
func buildAsync(dir string) (library string, err error) {
	library = filepath.Join(dir, "libcudamallocasync.so")
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	compiler, err := cuda.Compiler("CXX", "c++", "g++", "clang++")
	if err != nil {
		return "", err
	}
	source := filepath.Join(dir, "async.cc")
	if err := os.WriteFile(source, []byte(asyncSource), 0o644); err != nil {
		return "", err
	}
	return library, cuda.Run(exec.Command(compiler, "-std=c++17", "-O2", "-shared", "-fPIC", "-I"+filepath.Join(dir, "include"),
		"-o", library, source, "-L"+dir, "-lcudart"))
}
