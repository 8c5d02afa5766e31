package cuda

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed include lib thin
var sources embed.FS

// ErrNoCompiler says that there is no C compiler to build the libraries with.
var ErrNoCompiler = errors.New("there is no C compiler (set CC, or install cc)")

// library is one that is built.
type library struct {
	name    string
	sources []string
	options []string
	version string // of its symbols: the name of the version node
}

var runtimeSources = []string{"runtime.c", "runtime_memory.c", "kernels.c", "properties.c", "absent.c"}

var driverSources = []string{
	"core.c", "driver.c", "contexts.c", "entries.c", "pointers.c", "hostmemory.c", "pools.c", "hostpools.c", "modules.c", "parameters.c", "peers.c", "values.c", "absent.c",
}

var libraries = []library{
	{name: "libcuda.so.1", sources: driverSources, options: []string{"-ldl", "-lpthread"}},
	{name: "libcudart.so.13", sources: runtimeSources, options: []string{"-DGAUGEBLOCK_CUDART=13", "-lpthread"}, version: "libcudart.so.13"},
	{name: "libcudart.so.12", sources: runtimeSources, options: []string{"-DGAUGEBLOCK_CUDART=12", "-lpthread"}, version: "libcudart.so.12"},
	{name: "libnvidia-ml.so.1", sources: []string{"nvml.c"}},
}

// Compiler is the command of the C compiler: that of the environment variable, or the
// first of the others that is there.
func Compiler(variable string, others ...string) (string, error) {
	for _, name := range append([]string{os.Getenv(variable)}, others...) {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path, nil
		}
	}
	return "", ErrNoCompiler
}

// Build builds the libraries in a directory, with the names by which programs are linked
// (libcudart.so) beside those by which they are loaded, and the headers in its folder
// include. The machine is not among them: see BuildMachine. Options are the compiler's, beside
// those that are needed. Without a C compiler the error is ErrNoCompiler.
func Build(dir string, options ...string) error {
	compiler, err := Compiler("CC", "cc", "gcc", "clang")
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	from, err := os.MkdirTemp("", "gaugeblock-cuda-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(from)
	if err := unpack(from); err != nil {
		return err
	}
	if err := headers(filepath.Join(dir, "include")); err != nil {
		return err
	}
	var files []string
	var commands []*exec.Cmd
	for _, l := range libraries {
		c, err := l.command(compiler, from, dir, options)
		if err != nil {
			return err
		}
		files, commands = append(files, l.name), append(commands, c)
	}
	if err := Kept(dir, files, Texts(sources, "."), commands...); err != nil {
		return err
	}
	for _, link := range [][2]string{{"libcuda.so", "libcuda.so.1"}, {"libcudart.so", "libcudart.so.13"}} {
		if err := os.Symlink(link[1], filepath.Join(dir, link[0])); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// command compiles and links one library, in the directory of the sources.
func (l *library) command(compiler, from, dir string, options []string) (*exec.Cmd, error) {
	args := []string{
		"-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden",
		"-Iinclude", "-o", filepath.Join(dir, l.name), "-Wl,-soname," + l.name,
	}
	for _, s := range l.sources {
		args = append(args, "lib/"+s)
	}
	if l.version != "" {
		script := l.name + ".map"
		text := fmt.Sprintf("%s { global: cuda*; __cuda*; local: *; };\n", l.version)
		if err := os.WriteFile(filepath.Join(from, script), []byte(text), 0o644); err != nil {
			return nil, err
		}
		args = append(args, "-Wl,--version-script="+script)
	}
	if l.name != "libcuda.so.1" {
		args = append(args, filepath.Join(dir, "libcuda.so.1"), "-Wl,--disable-new-dtags,-rpath,$ORIGIN")
	}
	c := exec.Command(compiler, slices.Concat(args, l.options, options)...)
	c.Dir = from
	return c, nil
}

// headers writes the headers to a directory, over what is there.
func headers(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files, err := sources.ReadDir("include")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := sources.ReadFile("include/" + f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name()), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// unpack writes the sources to a directory.
func unpack(dir string) error { return os.CopyFS(dir, sources) }

// Headers are the names of the headers that Build writes, each before its text.
func Headers() []string { return Texts(sources, "include") }

// Texts are the names of the files in a folder, each before its text.
func Texts(files embed.FS, folder string) (list []string) {
	err := fs.WalkDir(files, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		list = append(list, name, string(text))
		return err
	})
	if err != nil {
		panic(err) // they are in the program
	}
	return list
}

// MachineName is the library that the machine is in.
const MachineName = "libgaugeblock_machine.so"

// BuildMachine builds the machine from the module in a
// directory. It needs Go, with cgo.
func BuildMachine(module, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	to := filepath.Join(dir, MachineName)
	build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags", "-s -w", "-o", to, "./fakegpu/cuda/machine")
	build.Dir = module
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if err := Run(build); err != nil {
		return err
	}
	return os.Remove(strings.TrimSuffix(to, ".so") + ".h") // nobody calls it by name
}

// Run runs a command; the error has what it said.
func Run(c *exec.Cmd) error {
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out)
	}
	return nil
}
