package run

import (
	"path/filepath"
	"strings"
	"testing"
)

// What cannot be written, as on a full disk, is said by the program itself: the snapshot is lost before the answer.
func TestEndsOnFullDisk(t *testing.T) {
	const takes = "import resource, torch\nx = torch.empty(64 << 20, dtype=torch.uint8, device='cuda')\n" +
		"for _ in range(1000): torch.empty(512, device='cuda')\n"
	for name, c := range map[string]struct {
		limit         string
		printed, want string
	}{
		"snapshot": {"1 << 14", "the memory snapshot could not be written: [Errno 27]", "peak reserved 66.00 MiB"},
		"both":     {"0", "device 0: peak reserved 69206016 bytes, allocated ", "no answer: 1 process used a GPU, and ended without one"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			write(t, folder, "program.py", takes+"resource.setrlimit(resource.RLIMIT_FSIZE, ("+c.limit+",) * 2)")
			var printed strings.Builder
			r := runs(t, Options{Command: []string{pythons(t)[0], filepath.Join(folder, "program.py")}, NoValues: true, Snapshot: true, Output: &printed}, 0)
			if !strings.Contains(printed.String(), c.printed) || !strings.Contains(told(*r), c.want) {
				t.Errorf("%q, %q", printed.String(), told(*r))
			}
		})
	}
}

// A program with another allocator runs as it does without this command, and is told that nothing is known.
func TestTorchOtherAllocator(t *testing.T) {
	const uses = "import threading\ntorch.cuda.init()\nt = threading.Thread(target=lambda: torch.empty(1000, device='cuda')); t.start(); t.join()\nprint(torch.cuda.get_allocator_backend(), 'ran')"
	for name, program := range map[string]string{
		"cudaMallocAsync": "import os; os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'backend:cudaMallocAsync'; import torch\n",
		"pluggable":       "import torch\ntorch.cuda.memory.change_current_allocator(torch.cuda.memory.CUDAPluggableAllocator('libc.so.6', 'malloc', 'free'))\n",
	} {
		t.Run(name, func(t *testing.T) {
			var printed strings.Builder
			defer func() { t.Log(printed.String()) }()
			r := runs(t, Options{Command: []string{pythons(t)[0], "-c", program + uses}, Snapshot: true, Output: &printed}, 0)
			if got := told(*r); !strings.Contains(got, "allocates by "+name+", and PyTorch's own") || !strings.HasSuffix(printed.String(), name+" ran\n") {
				t.Errorf("%q, %q", printed.String(), got)
			}
		})
	}
}

// However a program ends, and whatever it does to its processes, the verdict is right or says why
// there is none.
func TestEndings(t *testing.T) {
	const takes = "import os, sys, signal, torch\nx = torch.empty(64 << 20, dtype=torch.uint8, device='cuda')\n"
	const peak = "peak reserved 64.00 MiB"
	ended := "import multiprocessing as m, sys, time\ndef child(here):\n    " + strings.ReplaceAll(takes, "\n", "\n    ") + "here.set()\n    time.sleep(600)\n" +
		"if __name__ == '__main__':\n    m.set_start_method('spawn'); here = m.Event(); p = m.Process(target=child, args=(here,)); p.start(); here.wait(); "
	python := pythons(t)[0]
	for name, c := range map[string]struct {
		program string
		status  int
		want    string
	}{
		"sys.exit":      {takes + "sys.exit(5)", 5, peak},
		"os._exit":      {takes + "os._exit(3)", 3, peak},
		"an exception":  {takes + "raise ValueError", 1, peak},
		"SIGKILL":       {takes + "os.kill(os.getpid(), signal.SIGKILL)", 137, "no answer: the program was ended by signal 9"},
		"abort":         {takes + "os.abort()", 134, "no answer: the program was ended by signal 6"},
		"fork":          {takes + "if os.fork() == 0: os._exit(0)\nos.wait()", 0, peak},
		"exec":          {takes + "if len(sys.argv) < 2: os.execv(sys.executable, [sys.executable, sys.argv[0], 'again'])", 0, peak},
		"no folder":     {takes + "import shutil\nshutil.rmtree(os.environ['GAUGEBLOCK_RUN_FOLDER'])", 0, "none could end with an answer"},
		"other GPUs":    {"import os\nos.environ['CUDA_VISIBLE_DEVICES'] = 'GPU-5'\n" + takes + "assert torch.cuda.device_count() == 1", 0, peak},
		"spawn":         {"import multiprocessing as m\ndef child():\n    " + strings.ReplaceAll(takes, "\n", "\n    ") + "\nif __name__ == '__main__':\n    p = m.get_context('spawn').Process(target=child); p.start(); p.join()", 0, peak},
		"counted, fork": {"import os\nos.environ['PYTORCH_NVML_BASED_CUDA_CHECK'] = '1'\nimport torch, multiprocessing as m\ndef child():\n    " + strings.ReplaceAll(takes, "\n", "\n    ") + "\nassert torch.cuda.is_available() and torch.cuda.device_count() == 1\np = m.get_context('fork').Process(target=child); p.start(); p.join()", 0, peak},
		"terminated":    {ended + "p.terminate(); p.join(); sys.exit(-p.exitcode)", 15, peak},
		"stopped":       {takes + "import time\nos.kill(os.getppid(), signal.SIGTERM)\ntime.sleep(600)", 143, "interrupted; until then it did not run out of memory"},
		"SIGTERM":       {takes + "import time\nassert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\nos.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(600)", 143, peak},
		"SIGINT, late":  {takes + "import json\nwrite = json.dump\njson.dump = lambda *a: (os.kill(os.getpid(), signal.SIGINT), write(*a))", 0, peak}, // while it answers
		"its own":       {takes + "signal.signal(signal.SIGTERM, lambda *_: sys.exit(4))\nos.kill(os.getpid(), signal.SIGTERM)", 4, peak},
		"child, killed": {takes + "import time\np = os.fork()\nif p == 0: time.sleep(600)\nos.kill(p, signal.SIGTERM)\nassert os.waitpid(p, 0)[1] == 15\ntime.sleep(1)", 0, peak},
		"killed":        {ended + "p.kill(); p.join(); p.kill()", 0, peak},
		"child, lost":   {"import os\nif os.fork() == 0:\n    " + strings.ReplaceAll(takes, "\n", "\n    ") + "import ctypes; ctypes.CDLL(None).kill(os.getpid(), 9)\nos.wait()", 0, "no answer: 1 process used a GPU, and ended without one"},
		"environment":   {takes + "os.environ.clear()", 0, peak}, // which the program clears
		"two Pythons":   {takes + "import subprocess\nif len(sys.argv) < 2: subprocess.run([sys.executable, sys.argv[0], 'again'], check=True)", 0, peak},
		"searched":      {"import importlib.util\nimportlib.util.find_spec('torch')\n" + takes, 0, peak}, // as transformers does
		"much to print": {takes + "for _ in range(64): sys.stderr.write('x' * (1 << 20))", 0, peak},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("LD_PRELOAD", "libm.so.6") // the program's own stays
			folder := t.TempDir()
			write(t, folder, "program.py", c.program)
			var printed strings.Builder
			r := runs(t, Options{Command: []string{python, filepath.Join(folder, "program.py")}, NoValues: true, Output: &printed}, c.status)
			if got := told(*r); !strings.Contains(got, c.want) {
				t.Errorf("%q has not %q", got, c.want)
			}
		})
	}
}
