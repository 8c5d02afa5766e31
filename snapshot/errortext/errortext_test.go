package errortext

import (
	"strings"
	"testing"
)

// TestExplain: texts of different releases and backends, what they say and what follows. The
// sentences are those that PyTorch prints; the numbers are made up or from public reports.
func TestExplain(t *testing.T) {
	for _, test := range []struct {
		what, text string
		cause      Cause
		device     int
		says       []string
	}{
		{"2.11, a rank's prefix", `[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.65 GiB. GPU 2 has a total capacity of 79.19 GiB of which 6.87 GiB is free. Including non-PyTorch memory, this process has 72.31 GiB memory in use. Of the allocated memory 70.63 GiB is allocated by PyTorch, and 134.28 MiB is reserved by PyTorch but unallocated. If reserved`,
			Shortage, 2, []string{"0.78 GiB (to within", "0.65 GiB (to within", "1.55 GiB (to within", "Other processes, and the driver itself, have at most 0.03 GiB", "that much is sure"}},
		{"1.13 to 2.0, enough cached", `RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 23.69 GiB total capacity; 18.30 GiB already allocated; 200.00 MiB free; 22.60 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb`,
			Fragmentation, 0, []string{"4.30 GiB (to within", "does not tell them apart", "expandable_segments:True"}},
		{"a fraction", `CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.19 GiB of which 60.00 GiB is free. 10.00 GiB allowed; Of the allocated memory 9.50 GiB is allocated by PyTorch, with 17.00 MiB allocated in private pools (e.g., CUDA Graphs), and 100.00 MiB is reserved by PyTorch but unallocated.`,
			Fraction, 0, []string{"a memory fraction allows 10.00 GiB", "the message calls it allocated", "The allocator has 9.60 GiB", "9.48 GiB (to within 5.12 MiB) allocated", "The device has enough free"}},
		{"free on ROCm", `HIP out of memory. Tried to allocate 432.00 MiB. GPU 0 has a total capacity of 15.92 GiB of which 7.12 GiB is free. Of the allocated memory 8.08 GiB is allocated by PyTorch, and 321.96 MiB is reserved by PyTorch but unallocated.`,
			Refused, 0, []string{"the driver refused", "a message of HIP"}},
		{"before 1.5, cached", `CUDA out of memory. Tried to allocate 8.13 GiB (GPU 0; 10.76 GiB total capacity; 643.57 MiB already allocated; 8.20 GiB free; 32.43 MiB cached)`,
			Refused, 0, []string{"32.43 MiB cached"}},
		{"2.1, its spelling, and a process", "x\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacty of 8.00 GiB of which 0 bytes is free. Process 42 has 5.00 GiB memory in use. Including non-PyTorch memory, this process has 3.00 GiB\nmemory in use. Of the allocated memory 2.50 GiB is allocated by PyTorch, and 10.00 MiB is reserved by PyTorch but unallocated.",
			Shortage, 0, []string{"Without the other processes the request would fit"}},
		{"cudaMallocAsync", "torch.cuda.OutOfMemoryError: Allocation on device 5 would exceed allowed memory. (out of memory)\nCurrently allocated     : 54.14 GiB\nRequested               : 686.41 MiB\nDevice limit            : 79.35 GiB\nFree (according to CUDA): 27.19 MiB\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB\n",
			Unknown, 5, []string{"686.41 MiB is asked for", "the driver's pool may hold more", "25.18 GiB"}},
		{"throw_on_cudamalloc_oom", "CUDA out of memory. Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit. Requested size: 20.00 MiB. Reserved memory (80.00 MiB) + requested size would exceed memory limit (100.00 MiB).",
			Fraction, -1, []string{"20.00 MiB is asked for", "allows 100.00 MiB"}},
		{"rounding leaves it open", `CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 1.00 GiB is free. Of the allocated memory 6.00 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.`,
			Unknown, 0, []string{"does not tell for sure"}},
		{"memory_summary", "|                  PyTorch CUDA memory summary, device ID 3                 |\n|            CUDA OOMs: 1            |        cudaMalloc retries: 2         |\n| Allocated memory      |    1062 MiB |    4877 MiB |\n|       from large pool |    1048 MiB |    4865 MiB |\n| Active memory         |    1062 MiB |    4877 MiB |\n| GPU reserved memory   |   12420 MiB |   12420 MiB |\n| Non-releasable memory |    1358 MiB |   5000 MiB |\n",
			NoCause, 3, []string{"empty_cache would return 9.77 GiB", "with 1 failed request and 2 retries"}},
	} {
		m := Find("epoch 3\n" + test.text + "\nmore\n")
		if m == nil {
			t.Errorf("%s: nothing is found", test.what)
			continue
		}
		text := m.Explain()
		if m.Cause() != test.cause || m.Device != test.device {
			t.Errorf("%s: cause %s, device %d: %s", test.what, m.Cause(), m.Device, text)
		}
		for _, s := range test.says {
			if !strings.Contains(text, s) {
				t.Errorf("%s: %q is not in %s", test.what, s, text)
			}
		}
	}
	for _, none := range []string{"", "out of memory", "CUDA out of memory.", "PyTorch CUDA memory summary, device ID 0"} {
		if m := Find(none); m != nil {
			t.Errorf("%q: %+v", none, m)
		}
	}
}

// TestSizesAreRanges: a size is anything that is rounded to its text.
func TestSizesAreRanges(t *testing.T) {
	for text, want := range map[[2]string][2]uint64{
		{"512", "bytes"}: {512, 512}, {"1.00", "KiB"}: {1018, 1029}, {"2", "KiB"}: {2048, 3072}, {"1.5", "GiB"}: {1556925644, 1664299827}, {"7", ""}: {7, 7},
		{"2", "EiB"}: {2 << 60, 3 << 60}, {"9", "EiB"}: {1 << 62, 1 << 62},
	} {
		if got := parseSize(text[0], text[1]); got.Low != want[0] || got.High != want[1] {
			t.Errorf("%v: %+v", text, *got)
		}
	}
}

// FuzzFind: no text is too odd.
func FuzzFind(f *testing.F) {
	f.Add("CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 1e9 GiB total capacity; 99999999999999999999 GiB already allocated; 0 bytes free; . GiB reserved in total by PyTorch)")
	f.Fuzz(func(t *testing.T, text string) {
		if m := Find(text); m != nil {
			m.Explain()
		}
	})
}
