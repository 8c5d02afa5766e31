package run

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/fakegpu/cuda"
)

var sanitized = flag.Bool("sanitized", false, "run programs on libraries with the sanitizers of the compiler")

// sanitizers are those that can be loaded before Python, with the compiler's options and the libraries. What they say
// is written to files. That of addresses must not mind that it is not the first library, nor the signals of Go.
var sanitizers = []struct {
	name, options string
	libraries     []string
	variables     string
}{
	{"addresses", "-fsanitize=address,undefined", []string{"libasan.so", "libubsan.so", "libstdc++.so"}, `
		export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:handle_segv=0:allow_user_segv_handler=1:use_sigaltstack=0:log_path=SAID
		export UBSAN_OPTIONS=print_stacktrace=1:log_path=SAID`},
	{"threads", "-fsanitize=thread", []string{"libtsan.so", "libstdc++.so"}, `
		export TSAN_OPTIONS=report_signal_unsafe=0:exitcode=0:log_path=SAID`},
}

// inThreads asks for memory in four threads at once.
const inThreads = `import torch, threading
def work(x):
    for _ in range(300): x.add_(1); torch.empty(1 << 12, device="cuda")
threads = [threading.Thread(target=work, args=(torch.ones(1 << 16, device="cuda"),)) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
`

// TestSanitized runs programs of PyTorch on libraries that are built with sanitizers: "make sanitize" asks for it.
func TestSanitized(t *testing.T) {
	if !*sanitized {
		t.Skip("no sanitizers are asked for")
	}
	for _, python := range pythons(t) {
		for _, s := range sanitizers {
			t.Run(s.name, func(t *testing.T) {
				folder := t.TempDir()
				sanitizedLibraries(t, folder, s.options)
				said := filepath.Join(folder, "said")
				loaded := sanitizedPython(t, folder, python, s.libraries, strings.ReplaceAll(s.variables, "SAID", said))
				t.Setenv(LibrariesVariable, folder)
				out := filepath.Join(folder, "out")
				write(t, folder, "in_threads.py", inThreads)
				for _, command := range [][]string{
					{filepath.Join(folder, "in_threads.py")},
					{"kinds/kinds.py", "lstm_dropout", out, "0"}, {"kinds/kinds.py", "streams_of_experts", out, "0"},
					{"kinds/kinds.py", "graphed_callables", out, "0"}, {"kinds/kinds.py", "unet_channels_last", out, "0"},
					{"kinds/kinds.py", "pinned_offload", out, "0"}, {"kinds/kinds.py", "sparse_tensors", out, "0"},
					{"kinds/kinds.py", "fourier_operator", out, "0"}, {"parallel.py", "ddp", out}, {"parallel.py", "fsdp2", out},
				} {
					o, printed := Options{Command: []string{loaded}, GPUs: 1}, &bytes.Buffer{}
					if command[0] == "parallel.py" { // each rank is a process
						o.Command, o.GPUs = append(o.Command, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"), 2
					}
					if !filepath.IsAbs(command[0]) {
						command[0] = filepath.Join("testdata", command[0])
					}
					o.Command = append(o.Command, command...)
					o.Output = printed
					t.Log(command)
					runs(t, o, 0)
				}
				findings(t, folder)
			})
		}
	}
}

// sanitizedLibraries builds the libraries with options.
func sanitizedLibraries(t *testing.T, folder, options string) {
	t.Helper()
	more := append(strings.Fields(options), "-g", "-fno-omit-frame-pointer")
	if err := cuda.Build(folder, more...); err != nil {
		t.Fatal(err)
	}
	if err := cuda.BuildThin(folder, nil, more...); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(os.Getenv(LibrariesVariable), cuda.MachineName), filepath.Join(folder, cuda.MachineName)); err != nil {
		t.Fatal(err)
	}
}

// sanitizedPython is a script that starts a Python with the sanitizers loaded. A library that is loaded in their name
// does not find those beside it, as NVIDIA's cuDNN has them.
func sanitizedPython(t *testing.T, folder, python string, libraries []string, variables string) (script string) {
	t.Helper()
	compiler, err := cuda.Compiler("CC", "cc", "gcc")
	if err != nil {
		t.Skip(err)
	}
	var files []string
	for _, l := range libraries {
		file, err := exec.Command(compiler, "-print-file-name="+l).Output()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, strings.TrimSpace(string(file)))
	}
	packages, err := exec.Command(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").Output()
	if err != nil {
		t.Fatal(err)
	}
	script = filepath.Join(folder, "python-sanitized")
	text := fmt.Sprintf("#!/bin/sh\n%s\nexport LD_LIBRARY_PATH=%s/nvidia/cudnn/lib\nLD_PRELOAD=%s exec %s \"$@\"\n",
		variables, strings.TrimSpace(string(packages)), strings.Join(files, ":"), python)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return script
}

// findings are what the sanitizers said of these libraries. That of threads sees nothing of PyTorch's own locks, which
// are not built for it, nor of the loader's, which frees the variables of a thread that has ended.
func findings(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "said.*"))
	if err != nil {
		t.Fatal(err)
	}
	libraries := append(cuda.Thin(), "libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libnvidia-ml.so.1")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, said := range strings.Split(string(text), "==================\n") {
			ours := func(library string) bool { return strings.Contains(said, "("+library+"+0x") }
			if slices.ContainsFunc(libraries, ours) && !strings.Contains(said, "_dl_deallocate_tls") || strings.Contains(said, "AddressSanitizer") || strings.Contains(said, "runtime error") {
				t.Errorf("%.3000s", said)
			}
		}
	}
}
