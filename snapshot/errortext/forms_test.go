package errortext

import (
	"strings"
	"testing"
)

// The sentences below are PyTorch's; the numbers are made up.

const (
	whole = "CUDA out of memory. Tried to allocate 3.00 GiB. GPU 1 has a total capacity of 23.64 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 22.50 GiB memory in use. Of the allocated memory 21.50 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated."
	async = "Allocation on device 2 would exceed allowed memory. (out of memory)\nCurrently allocated     : 30.00 GiB\nRequested               : 1.50 GiB\nDevice limit            : 39.49 GiB\nFree (according to CUDA): 100.00 MiB\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB\n"
)

// TestForms: a message is the same one in whatever a log, a terminal or a notebook makes of it.
func TestForms(t *testing.T) {
	wrapped := ""
	for i, c := range whole {
		if wrapped += string(c); i%40 == 39 {
			wrapped += "\n"
		}
	}
	for _, test := range []struct{ what, text string }{
		{"plain", whole},
		{"a rank's prefix", "[rank1]: torch.OutOfMemoryError: " + whole},
		{"wrapped in the middle of words", wrapped},
		{"wrapped, a prefix before each line", strings.ReplaceAll(whole, " is ", " is\n[rank1]: ")},
		{"behind a progress bar", " 41%|####   | 41/100 [00:10<00:14]\r" + whole + "\r"},
		{"coloured", "\x1b[0;31mOutOfMemoryError\x1b[0m: CUDA out of memory. Tried to allocate \x1b[1m3.00 GiB\x1b[0m" + whole[strings.Index(whole, ". GPU"):]},
		{"in JSON, coloured, escaped twice", `{"log":"\\u001b[0;31mOutOfMemoryError\\u001b[0m: ` + strings.ReplaceAll(whole, ". ", `.\\n`) + `\\n"}`},
		{"in a box", strings.ReplaceAll(whole, " of ", " of │\n│ ")},
		{"quoted in Markdown", "> " + strings.ReplaceAll(whole, ". ", ".\n> > ")},
		{"in a page of HTML", "<pre>" + strings.ReplaceAll(strings.ReplaceAll(whole, ". ", ".<br/>"), " is ", "&nbsp;<span class=\"x\">is</span> ") + "</pre>"},
		{"Ray's, of two machines, with ends of lines of Windows", "\x1b[36m(WorkerDict pid=1188, ip=10.1.2.3)\x1b[0m torch.OutOfMemoryError: " + whole + "\r\n(WorkerDict pid=7, ip=10.1.2.4)\r\n"},
		{"Slurm's and a logger's", "3: 2026-03-02 01:02:03,456 ERROR 显存不足: OutOfMemoryError('" + whole + "')"},
		{"with spaces that do not break", strings.ReplaceAll(whole, " ", "\u00a0")},
	} {
		m := Find("some lines\n" + test.text + "\nand more\n")
		if m == nil {
			t.Errorf("%s: nothing is found", test.what)
			continue
		}
		if want := Find(whole); m.key() != want.key() || m.Cause() != Shortage || !m.Sure() || m.Device != 1 {
			t.Errorf("%s: %s, and not %s; cause %s", test.what, m.key(), want.key(), m.Cause())
		}
	}
	prefixed := "ERROR 06-05 06:18:13 [core.py:47] " + strings.ReplaceAll(strings.TrimSpace(async), "\n", "\nERROR 06-05 06:18:13 [core.py:47] ")
	if m, want := Find(prefixed), Find(async); m == nil || m.key() != want.key() || m.Allowed != nil || m.Cause() != Unknown {
		t.Errorf("cudaMallocAsync with prefixes: %+v", m)
	}
}

// TestConclusions: what follows, and what must not be said.
func TestConclusions(t *testing.T) {
	for _, test := range conclusions() {
		m := Find(test.text)
		if m == nil {
			t.Errorf("%s: nothing is found", test.what)
			continue
		}
		lines := m.Brief()
		text := m.Explain() + " | " + lines.Happened + " | " + lines.Cause + " | " + lines.Try
		if m.Cause() != test.cause || m.Sure() != test.sure || !strings.Contains(text, test.says) || test.not != "" && strings.Contains(text, test.not) {
			t.Errorf("%s: %s, sure %v, %q or not %q: %s", test.what, m.Cause(), m.Sure(), test.says, test.not, text)
		}
	}
}

// conclusion is a text, what follows of it, and what must be said, or must not.
type conclusion struct {
	what, text string
	cause      Cause
	sure       bool
	says, not  string
}

func conclusions() []conclusion {
	with := func(old, new string) string { return strings.Replace(whole, old, new, 1) }
	pieces := strings.NewReplacer("21.50 GiB", "19.50 GiB", "512.00 MiB", "2.50 GiB").Replace(whole)
	return []conclusion{
		{"short", whole, Shortage, true, "1.50 GiB (to within", ""},
		{"the text ends early", whole[:strings.Index(whole, " Including")], Unknown, false, "does not tell for sure", "shortage"},
		{"asked for more than the device has", with("3.00 GiB. GPU", "30.00 GiB. GPU")[:120], Shortage, true, "", ""},
		{"no process is told", with("22.50 GiB memory", "17179869184.00 GiB memory"), Shortage, false, "it may lend memory of the host", "17179869184"},
		{"no byte free", with("1.00 GiB is free", "0 bytes is free"), Shortage, false, "it may lend memory of the host", "that much is sure"},
		{"on Windows", "File \"C:\\Users\\me\\train.py\", line 3\n" + whole, Shortage, false, "it may lend memory of the host", "that much is sure"},
		{"more in use than there is", with("21.50 GiB", "31.50 GiB"), Unknown, false, "contradict", "shortage"},
		{"more free than there is", with("1.00 GiB is free", "60.00 GiB is free"), Unknown, false, "contradict", "shortage"},
		{"a segment of 20 MiB", strings.NewReplacer("3.00 GiB", "20.00 MiB", "1.00 GiB is", "8.00 MiB is", "512.00 MiB", "7.00 MiB").Replace(whole), Shortage, false, "the request itself may be smaller", "that much is sure"},
		{"a segment of 2 MiB", strings.NewReplacer("3.00 GiB", "2.00 MiB", "1.00 GiB is", "0.50 MiB is", "512.00 MiB", "1.00 MiB").Replace(whole), Shortage, false, "at most 1 MiB", "that much is sure"},
		{"in pieces", pieces, Fragmentation, false, "Likely to help: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", ""},
		{"in pieces, no byte free", strings.Replace(pieces, "1.00 GiB is free", "0 bytes is free", 1), Shortage, false, "it may lend memory of the host", "export"},
		{"in pieces, no byte free, and enough is cached", strings.NewReplacer("3.00 GiB", "2.00 GiB", "1.00 GiB is free", "0 bytes is free").Replace(pieces), Fragmentation, false, "No byte is free, which is how Windows tells it", "Likely to help: PYTORCH"},
		{"another process has just enough", "CUDA out of memory. Tried to allocate 4000 bytes. GPU 0 has a total capacity of 10000 bytes of which 1000 bytes is free. Process 42 has 3000 bytes memory in use. Including non-PyTorch memory, this process has 6000 bytes memory in use. Of the allocated memory 5000 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.", Shortage, true, fitsWithoutOthers, ""},
		{"in pieces, a fraction, and the device has enough", "CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 79.19 GiB of which 60.00 GiB is free. 1.05 GiB allowed; Of the allocated memory 1017.00 MiB is allocated by PyTorch, and 55.00 MiB is reserved by PyTorch but unallocated.", Fraction, false, "likely the memory fraction", "Likely to help"},
		{"in pieces, on Windows", "C:\\Users\\me\\a.py\n" + pieces, Fragmentation, false, "not advised: the program runs on Windows", "Likely to help"},
		{"in pieces, with DeepEP", "site-packages/deep_ep/buffer.py\n" + pieces, Fragmentation, false, "not advised: the text has DeepEP", "Likely to help"},
		{"in pieces, expandable already", pieces + " expandable_segments is enabled. If instead the process", Fragmentation, false, "is on already", "Likely to help"},
		{"in pieces, with the newer variable", pieces + " If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.", Fragmentation, false, "| export PYTORCH_ALLOC_CONF=expandable_segments:True   #", "PYTORCH_CUDA_ALLOC_CONF"},
		{"the same, the reasons", pieces + " If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True", Fragmentation, false, "Likely to help: PYTORCH_ALLOC_CONF=expandable_segments:True, if", "PYTORCH_CUDA_ALLOC_CONF"},
		{"in pieces, 2.0", "CUDA out of memory. Tried to allocate 3.00 GiB (GPU 0; 23.64 GiB total capacity; 18.00 GiB already allocated; 1.00 GiB free; 21.00 GiB reserved in total by PyTorch) If", Fragmentation, false, "PyTorch 2.1 or later", "PYTORCH_CUDA_ALLOC_CONF=expandable"},
		{"in pieces, an NPU", "NPU out of memory. Tried to allocate 3.00 GiB (NPU 5; 60.96 GiB total capacity; 50.00 GiB already allocated; 50.00 GiB current active; 1.00 GiB free; 58.00 GiB reserved in total by PyTorch)", Fragmentation, false, "a message of NPU", "expandable_segments:True"},
		{"refused with memory free", strings.NewReplacer("1.00 GiB is", "4.00 GiB is", "21.50", "11.50").Replace(whole), Refused, false, "Perhaps other processes or threads freed memory", "No setting"},
		{"an allocator of a pool", whole + " The custom allocator backing this MemPool returned nullptr. Check preceding", PoolAllocator, false, "allocator that a MemPool has", "shortage"},
		{"a fraction", with("Of the", "21.00 GiB allowed; Of the"), Shortage, true, "a memory fraction allows 21.00 GiB", ""},
		{"a fraction, and the device has enough", strings.NewReplacer("1.00 GiB is", "9.00 GiB is", "22.50", "14.00", "21.50", "13.00", "Of the", "14.00 GiB allowed; Of the").Replace(whole), Fraction, true, "The device has enough free", "shortage"},
		{"in pieces, under a fraction, and the device has room", strings.NewReplacer("1.00 GiB is", "9.00 GiB is", "22.50", "14.00", "21.50", "10.00", "512.00 MiB", "3.50 GiB", "Of the", "14.00 GiB allowed; Of the").Replace(whole), Fragmentation, false, "| a larger set_per_process_memory_fraction: the device has room", "9.00 GiB of 23.64 GiB free"},
		{"in pieces, and the driver has what is not told", "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 17.88 MiB is free. Including non-PyTorch memory, this process has 23.61 GiB memory in use. Of the allocated memory 21.02 GiB is allocated by PyTorch, and 2.12 GiB is reserved by PyTorch but unallocated.", Fragmentation, false, "Likely to help", "other processes the"},
		{"in pieces, and another process has enough", "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.21 GiB is free. Process 12345 has 4.00 GiB memory in use. Including non-PyTorch memory, this process has 18.43 GiB memory in use. Of the allocated memory 15.90 GiB is allocated by PyTorch, and 1.90 GiB is reserved by PyTorch but unallocated.", Fragmentation, false, "| export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True   # or end the other processes: --why", "No setting"},
		{"the same, the reasons", "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.21 GiB is free. Process 12345 has 4.00 GiB memory in use. Including non-PyTorch memory, this process has 18.43 GiB memory in use. Of the allocated memory 15.90 GiB is allocated by PyTorch, and 1.90 GiB is reserved by PyTorch but unallocated.", Fragmentation, false, "Without the other processes the request would fit. Likely to help: PYTORCH_CUDA_ALLOC_CONF", ""},
		{"the same, what is left", strings.NewReplacer("1.00 GiB is", "9.00 GiB is", "22.50", "14.00", "21.50", "10.00", "512.00 MiB", "3.50 GiB", "Of the", "14.00 GiB allowed; Of the").Replace(whole), Fragmentation, false, "asked for 3.00 GiB, about 0.50 GiB left of 14.00 GiB allowed |", ""},
		{"cudaMallocAsync", async, Unknown, false, "9.39 GiB (to within", "shortage"},
		{"cudaMallocAsync, which records nothing", async, Unknown, false, "backend:native", "record the run from its start ("},
		{"cudaMallocAsync, more than there can be", strings.Replace(async, "1.50 GiB", "15.00 GiB", 1), Shortage, true, "", ""},
		{"cudaMallocAsync, more than there can be but for the rounding", strings.NewReplacer("1.50 GiB", "9.51 GiB", "100.00 MiB", "5.00 GiB").Replace(async), Shortage, false, "", "that much is sure"},
		{"cudaMallocAsync, a fraction", strings.Replace(async, "17179869184.00", "31.00", 1), Fraction, true, "allows 31.00 GiB", ""},
		{"MPS", "MPS backend out of memory (MPS allocated: 6.00 GiB, other allocations: 1.00 GiB, max allowed: 6.80 GiB). Tried to allocate 459.00 MiB on private pool.", Fraction, true, "PYTORCH_MPS_HIGH_WATERMARK_RATIO allows 6.80 GiB", "gaugeblock"},
		{"on WSL", "Linux 5.15.153.1-microsoft-standard-WSL2\n" + whole, Shortage, false, "it may lend memory of the host", "that much is sure"},
		{"on a Jetson", "NvMapMemAllocInternalTagged: 1075072515 error 12\n" + whole, Shortage, false, "likely a shortage", "that much is sure"},
		{"in pieces, on WSL", "Linux 5.15.153.1-microsoft-standard-WSL2\n" + pieces, Fragmentation, false, "Likely to help", "No byte is free"},
		{"an XPU, which does not tell what is free", "XPU out of memory. Tried to allocate 3.86 GiB. GPU 0 has a total capacity of 15.56 GiB. Of the allocated memory 13.40 GiB is allocated by PyTorch, and 1.37 GiB is reserved by PyTorch but unallocated.", Shortage, false, "2.09 GiB (to within", "that much is sure"},
		{"an XPU, which may have enough", "XPU out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.56 GiB. Of the allocated memory 13.40 GiB is allocated by PyTorch, and 1.37 GiB is reserved by PyTorch but unallocated.", Unknown, false, "does not tell for sure", "shortage"},
		{"two processes, mixed", whole[:60] + strings.NewReplacer("GPU 1", "GPU 0", "512.00", "900.00", "21.50", "22.00").Replace(whole) + whole[60:], Unknown, false, "does not tell for sure", "shortage"},
		{"a part is left out", strings.Replace(whole, "PyTorch, and", "PyTorch, ... [12 characters] ... and", 1), Unknown, false, "does not tell for sure", "shortage"},
		{"a part is truncated", whole[:70] + " [truncated] " + whole[150:], Unknown, false, "does not tell for sure", "shortage"},
		{"cuBLAS", "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", Outside, false, "a call of cuBLAS found no memory", "CUDA runtime"},
		{"NCCL", "ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 2 'out of memory'", Outside, false, "a call of NCCL found no memory", "CUDA runtime"},
		{"CUDA's own error", "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported", Outside, false, "not one of PyTorch's allocator", "fragmentation"},
		{"a size that overflowed", "CUDA out of memory. Tried to allocate more than 1EB memory.", TooLarge, true, "overflowed", ""},
		{"no addresses", "[ExpandableSegmentVA] Failed to reserve 90 GiB (84 GiB) of virtual address space for an expandable CUDA segment on device 3 (cuda:3). This process", NoAddresses, true, "not what is short", "shortage"},
	}
}

// TestPrivatePools: what is free in private pools is in what the text calls allocated. The sizes
// are those of PyTorch 2.11, which had 242 MiB reserved.
func TestPrivatePools(t *testing.T) {
	m := Find("CUDA out of memory. Tried to allocate 23.45 GiB. GPU 0 has a total capacity of 23.64 GiB of which 22.92 GiB is free. Of the allocated memory 240.00 MiB is allocated by PyTorch, with 60.00 MiB allocated in private pools (e.g., CUDA Graphs), and 2.00 MiB is reserved by PyTorch but unallocated.")
	if text := m.Explain(); m.Reserved().String() != "242.00 MiB" || !strings.Contains(text, "The allocator has 242.00 MiB: 180.00 MiB allocated, 2.00 MiB cached.") {
		t.Error(text)
	}
}

// TestProcesses: in a container PyTorch names its own process as another one.
func TestProcesses(t *testing.T) {
	m := Find(strings.Replace(whole, "Including non-PyTorch memory, this process has", "Process 7 has 0.40 GiB memory in use. Process 4711 has", 1))
	if text := m.Explain(); strings.Contains(text, "process 7, with 0.40 GiB. It may be this one") || !strings.Contains(text, "process 4711, with 22.50 GiB. It may be this one, as in a container; then 0.50 GiB") {
		t.Error(text)
	}
}

// TestSeveral: each error once, the allocator's first, with the table of the same device.
func TestSeveral(t *testing.T) {
	table := "|                  PyTorch CUDA memory summary, device ID 1                 |\n|            CUDA OOMs: 1            |        cudaMalloc retries: 2         |\n| Allocated memory      |   22000 MiB |\n| Active memory         |   22000 MiB |\n| GPU reserved memory   |   22528 MiB |\n| Non-releasable memory |     128 MiB |\n"
	list := FindAll("RuntimeError: CUDA error: out of memory\n" + whole + "\n" + whole + "\n" + strings.Replace(whole, "GPU 1", "GPU 0", 1) + table)
	if len(list) != 3 || list[0].Device != 1 || list[0].Times != 2 || list[1].Device != 0 || list[2].Kind != Runtime {
		t.Fatalf("%+v", list)
	}
	if text := list[0].Explain(); !strings.Contains(text, "Behind it: A table") || !strings.Contains(text, "empty_cache would return 0.39 GiB") {
		t.Error(text)
	}
}

// TestWarnings: 2.13 and later log exact bytes when the driver refuses memory. They are the sizes of
// the error behind them, unless memory was freed in between, or it is of another device.
func TestWarnings(t *testing.T) {
	const prefix = "[W1129 20:55:16.658499577 CUDACachingAllocator.cpp:623] "
	const mapping = prefix + "expandable_segments: memory mapping failed with OOM on device 0 while trying to map 20971520 bytes (free: 2084044, total: 1288490188).\n"
	const segment = "[rank0]:[W] Warning: memory allocation failed with OOM on device 1 while trying to allocate 3221225472 bytes (free: 1073741000, total: 25383256064).\n"
	const failed = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 MiB. GPU 0 has a total capacity of 1.20 GiB of which 1.99 MiB is free. Of the allocated memory 482.81 MiB is allocated by PyTorch, and 59.19 MiB is reserved by PyTorch but unallocated.\n"
	for _, test := range []struct {
		what, text string
		free       [2]uint64
		expandable bool
		says, not  string
	}{
		{"before the error", mapping + mapping + failed, [2]uint64{2084044, 2084044}, true, "the driver refused 20971520 for pages of an expandable segment when 2084044 of 1288490188 were free. ", "export PYTORCH"},
		{"of another device", segment + failed, [2]uint64{2081423, 2091909}, false, "export PYTORCH", "A warning before"},
		{"memory was freed in between", strings.Replace(mapping, "2084044", "99999999", 1) + failed, [2]uint64{2081423, 2091909}, true, "99999999 of", "export PYTORCH"},
		{"behind an error, and before none", failed + mapping, [2]uint64{2081423, 2091909}, false, "export PYTORCH", "A warning before"},
		{"for a segment", segment + whole, [2]uint64{1073741000, 1073741000}, false, "the driver refused 3221225472 for a segment", "pages"},
		{"alone", "epoch 3\n" + mapping, [2]uint64{2084044, 2084044}, true, "A warning on device 0, and no error: the driver refused 20.00 MiB, with 1.99 MiB of 1.20 GiB free", "Out of memory"},
	} {
		m := Find(test.text)
		lines := m.Brief()
		text := m.Explain() + " | " + lines.Happened + " | " + lines.Cause + " | " + lines.Try
		if got := [2]uint64{m.Free.Low, m.Free.High}; got != test.free || m.Expandable != test.expandable || !strings.Contains(text, test.says) || strings.Contains(text, test.not) {
			t.Errorf("%s: %v free, expandable %v: %s", test.what, got, m.Expandable, text)
		}
	}
	if m := Find(prefix + "memory allocation failed with OOM on device 1 while trying to allocate 99999999999999999999999 bytes (free: 1, total: 2)"); m != nil {
		t.Errorf("a number of no size: %+v", m)
	}
}

// TestNumbers: what translations and decimal units make of sizes.
func TestNumbers(t *testing.T) {
	for text, want := range map[[2]string]string{
		{"7,65", "GiB"}: "7.65 GiB", {"1,024.50", "MiB"}: "1024.50 MiB", {"1.024,50", "MiB"}: "1024.50 MiB",
	} {
		if got := parseSize(text[0], text[1]); got == nil || got.text != want {
			t.Errorf("%v: %+v", text, got)
		}
	}
	if s := parseSize("1,024", "MiB"); s != nil {
		t.Errorf("a number that may be two: %+v", s)
	}
	// Of a unit of ten the least is that of powers of 1,000, the most that of powers of 1,024.
	for text, low := range map[[2]string]uint64{{"3.00", "KB"}: 2_995, {"3.00", "MB"}: 2_995_000, {"3.00", "TB"}: 2_995_000_000_000, {"30", "by"}: 30, {"30", "B"}: 30} {
		s := parseSize(text[0], text[1])
		if s == nil || s.Low+1 < low || s.Low > low+1 {
			t.Errorf("%v: %+v, not from %d", text, s, low)
		}
	}
	if s := parseSize("2.00", "GB"); s == nil || s.Low > 2_000_000_000 || s.High < 2<<30 || s.text != "2.00 GB" {
		t.Errorf("%+v", s)
	}
}

// TestNoError: a text that has no error of the allocator is not explained as one, and says what it has.
func TestNoError(t *testing.T) {
	for text, want := range map[string]string{
		"torch.OutOfMemoryError: CUDA out of memory.": "its sizes",
		whole[:30]: "its sizes",
		"(EngineCore pid=1) ValueError: No available memory for the cache blocks. Try increasing":                     "vLLM's",
		"Free memory on device (5.37/23.64 GiB) on startup is less than desired GPU memory utilization (0.9":          "vLLM's",
		"RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.":                 "vLLM's",
		"RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.":                              "SGLang's",
		"XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4563402752 bytes.":               "XLA's",
		"[enforce fail at alloc_cpu.cpp:114] DefaultCPUAllocator: not enough memory: you tried to allocate 42 by":     "host's memory",
		"out of resource: shared memory, Required: 147456, Hardware limit: 101376. Reducing block sizes":              "Triton's",
		"| Allocated memory      |  18000 MiB |  21000 MiB |   5000 GiB |   4982 GiB |":                               "in part",
		"RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`.": "SGLang's",
		"MemoryError: std::bad_alloc: out_of_memory: RMM failure at:/x/rmm/mr/device/pool_memory_resource.hpp:196: ":  "RMM's",
		"MemoryError: std::bad_alloc: CUDA error at: rmm/mr/device/cuda_memory_resource.hpp68: cudaErrorMemoryAlloc":  "RMM's",
		"E external/xla/xla/stream_executor/cuda/cuda_driver.cc:1] failed to allocate: CUDA_ERROR_OUT_OF_MEMORY: out": "XLA's",
		"ggml_cuda_host_malloc: failed to allocate 1900,00 MiB of pinned memory: invalid argument":                    "llama.cpp's",
		"CUDA error: out of memory\n  current device: 0, in function alloc at /x/ggml-cuda/ggml-cuda.cu:503":          "llama.cpp's",
		"cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorMemoryAllocation: out of memory":                   "CuPy's",
		"[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY":                                                  "Numba's",
		"RuntimeError: level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)":               "XPU's driver",
		"RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`":                 "cuBLAS's",
		"Error out of memory at line 380 in file /mmfs1/bitsandbytes/csrc/pythonInterface.cpp":                        "a call of CUDA",
		"epoch 3, loss 0.2": "",
	} {
		if list, why := FindAll(text), NoError(text); len(list) > 0 || !strings.Contains(why, want) || want == "" && why != "" {
			t.Errorf("%s: %v, %q", text, list, why)
		}
	}
}

// TestWithoutBeginning: people paste a message from its second sentence on. What is not named is not sure.
func TestWithoutBeginning(t *testing.T) {
	for _, text := range []string{whole[strings.Index(whole, "Tried"):], "Tried to allocate 3.00 GiB (GPU 1; 23.64 GiB total capacity; 21.50 GiB already allocated; 1.00 GiB free; 22.00 GiB reserved in total by PyTorch)"} {
		if m := Find("I get: " + text); m == nil || m.Cause() != Shortage || m.Sure() || m.Device != 1 || !strings.Contains(m.Explain(), "taken for CUDA's") {
			t.Errorf("%s: %+v", text, m)
		}
	}
	if list := FindAll(whole + "\nTried to allocate 3.00 GiB, and failed."); len(list) != 1 || list[0].headless {
		t.Errorf("%+v", list)
	}
}

// TestTables: the last table that is whole is read, up to the next one.
func TestTables(t *testing.T) {
	table := func(device, allocated string) string {
		return "| PyTorch CUDA memory summary, device ID " + device + " |\n| CUDA OOMs: 1 | cudaMalloc retries: 2 |\n| Allocated memory | " + allocated + " MiB | 1 MiB |\n"
	}
	const reserved = "| GPU reserved memory | 500 MiB | 1 MiB |\n"
	for _, test := range []struct{ text, device, allocated string }{
		{table("0", "100") + reserved + table("1", "200") + reserved, "device 1", "200 MiB of it"},
		{table("0", "100") + reserved + table("1", "200"), "device 0", "100 MiB of it"},
		{table("0", "100") + table("1", "200") + reserved, "device 1", "200 MiB of it"},
		{table("0", "100") + reserved + strings.Replace(table("1", "200")+reserved, "500 MiB | 1 MiB |", "50", 1), "device 0", "100 MiB of it"}, // lines that are cut
	} {
		m := Find(test.text)
		if text := m.Explain(); !strings.Contains(text, test.device) || !strings.Contains(text, test.allocated) || !strings.Contains(text, "The last of 2 tables") || m.Times != 1 {
			t.Error(text)
		}
		before := Find(strings.ReplaceAll(test.text, " MiB", " MB")) // as PyTorch wrote it before 2.0
		if old, now := before.Explain(), m.Explain(); old != now {
			t.Errorf("with MB for MiB:\n%s\nnot\n%s", old, now)
		}
	}
	for device, want := range map[string]bool{"0": false, "1": true} { // the error is of device 1
		if m := Find(whole + "\n" + table(device, "100") + reserved); (m.Table != nil) != want {
			t.Errorf("an error has the table of device %s: %t", device, !want)
		}
	}
	if m := Find(whole); m.Table != nil {
		t.Errorf("a table out of nothing: %+v", m.Table)
	}
}

// TestCutTexts: wherever a text is cut off, what is concluded from its beginning holds for the whole.
func TestCutTexts(t *testing.T) {
	native := func(free, process, allowed, allocated, private, cached string) string {
		return "CUDA out of memory. Tried to allocate 3.00 GiB. GPU 1 has a total capacity of 23.64 GiB of which " + free + " is free. Including non-PyTorch memory, this process has " + process +
			" memory in use. " + allowed + "Of the allocated memory " + allocated + " is allocated by PyTorch, " + private + "and " + cached + " is reserved by PyTorch but unallocated. If reserved but"
	}
	for _, text := range []string{
		whole, async, strings.Replace(async, "17179869184.00", "31.00", 1), strings.Replace(strings.Replace(async, "17179869184.00", "31.00", 1), "100.00 MiB", "2.00 GiB", 1), strings.Replace(async, "100.00 MiB", "2.00 GiB", 1),
		native("9.00 GiB", "14.00 GiB", "14.00 GiB allowed; ", "13.00 GiB", "", "512.00 MiB"),
		native("9.00 GiB", "14.00 GiB", "14.00 GiB allowed; ", "10.00 GiB", "", "3.50 GiB"),
		native("1.00 GiB", "22.50 GiB", "", "19.50 GiB", "with 1.50 GiB allocated in private pools (e.g., CUDA Graphs), ", "500.00 MiB"),
		native("4.00 GiB", "19.00 GiB", "", "11.00 GiB", "", "512.00 MiB"),
		"CUDA out of memory. Tried to allocate 3.00 GiB (GPU 0; 23.64 GiB total capacity; 18.00 GiB already allocated; 1.00 GiB free; 21.00 GiB reserved in total by PyTorch) If",
		"CUDA out of memory. Tried to allocate 3.00 GiB (GPU 0; 23.64 GiB total capacity; 20.00 GiB already allocated; 3.50 GiB free; 22.00 GiB allowed; 21.00 GiB reserved in total by PyTorch) If",
		"XPU out of memory. Tried to allocate 3.86 GiB. GPU 0 has a total capacity of 15.56 GiB. Of the allocated memory 13.40 GiB is allocated by PyTorch, and 1.37 GiB is reserved by PyTorch but unallocated.",
		"MPS backend out of memory (MPS allocated: 6.00 GiB, other allocations: 1.00 GiB, max allowed: 6.80 GiB). Tried to allocate 459.00 MiB on private pool.",
	} {
		full := Find(text)
		for i := range len(text) {
			m := Find(text[:i])
			if m == nil || m.Cause() == Unknown || m.Cause() == full.Cause() && (!m.Sure() || full.Sure()) {
				continue
			}
			if m.Cause() == Fraction && !m.Sure() && full.deviceHasRoom() {
				continue // a larger fraction would have served it, whatever is in pieces below it
			}
			t.Errorf("%q: %s, sure %v; the whole: %s, sure %v", text[:i], m.Cause(), m.Sure(), full.Cause(), full.Sure())
			break
		}
	}
}

// TestSmallPrint: what few texts have.
func TestSmallPrint(t *testing.T) {
	const one = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.00 GiB is free. "
	const mps = "MPS backend out of memory (MPS allocated: 17.00 GB, other allocations: 1.00 GB, max allowed: 18.13 GB). Tried to allocate 256.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure)."
	for what, test := range map[string]struct{ text, has, hasNot string }{
		"no sizes":                      {"RuntimeError: CUDA error: out of memory", "CUDA error: out of memory. The text has no sizes.", "%!"},
		"MPS":                           {mps, "the limit of the MPS allocator, 18.13 GB", "memory fraction"},
		"one text":                      {one, "1.00 GiB of 23.64 GiB is free", ""},
		"two texts that agree":          {one + "of which 1.00 GiB is free. ", "1.00 GiB of 23.64 GiB is free", ""},
		"two texts with another number": {one + "of which 2.00 GiB is free. ", "2.00 GiB is asked for", "is free"},
		"two texts with another unit":   {one + "of which 1.00 MiB is free. ", "2.00 GiB is asked for", "is free"},
		"a frame of lines":              {strings.ReplaceAll(one, ". ", ". \u2550\u2502\n"), "1.00 GiB of 23.64 GiB is free", ""},
	} {
		m := Find(test.text)
		if m == nil {
			t.Errorf("%s: nothing is found", what)
			continue
		}
		text := m.Explain() + "\n" + m.Brief().Cause
		if !strings.Contains(text, test.has) || test.hasNot != "" && strings.Contains(text, test.hasNot) {
			t.Errorf("%s: %q is not in, or %q is in\n%s", what, test.has, test.hasNot, text)
		}
	}
}
