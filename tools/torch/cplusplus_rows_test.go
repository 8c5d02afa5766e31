package torch

import (
	"path/filepath"
	"strings"
	"testing"
)

// Rows of docs/deviations.md that need several threads, or entry points that spec.Allocator does
// not have, on PyTorch's own allocator in C++ (cplusplus/rows.cc). A PyTorch that is mended
// prints something else.
var cplusplusRows = []cplusplusRow{
	{"callback_order", "Free-memory callbacks are called in the order of a hash", `
a request larger than the device: CUDA out of memory
third
second
first
`}, {"callback_thread", "Free-memory callbacks are called with the device's mutex held", `
the other thread's request returns during the callback: no
a request larger than the device: CUDA out of memory
the other thread's request returns afterwards
`}, {"no_filter", "Beginning a pool without a filter", `
a request: bad_function_call
`}, {"raw_sizes", "Requests of 1 EiB and more are refused in one entry point only", `
allocate: CUDA out of memory
raw_alloc: done
raw_alloc of 512 bytes: done
the two have one address: yes; allocated 512 bytes
`}, {"raw_toggle", "Memory that was allocated while caching was off, or on", `
raw_delete of a block of the cache: done
the device got back 2097152 bytes; reserved are 2097152, as before
`}, {"limit", "With the mutex released during `cudaMalloc` two requests can pass the limit together", `
a request of 30 MiB meanwhile: done
a request of 30 MiB, of 50 MiB that are allowed: done
reserved: 60 MiB
one more: CUDA out of memory
`}, {"pool_gone", "While a request for a pool has released the mutex", `
the pool is given up, and the cache emptied
signal: segmentation fault
`}, {"freeing_thread", "The entries of a free have the compile context", `
alloc: allocating
free_requested: freeing
free_completed: freeing
`}, {"free_restore", rowFreeRestore, `
the restore gives back the memory that is being freed: yes
the free: done
allocated: 0 bytes
it gets the same memory: yes
a request: done
`}, {"free_restore_part", rowFreeRestore, `
the restore gives back the memory that is being freed: yes
the free: inserted INTERNAL ASSERT FAILED at "/pytorch/c10/cuda/CUDACachingAllocator
allocated: 0 bytes
it gets the same memory: no
a request: done
`}, {"settings_meanwhile", "Settings are global and read one by one without a lock", `
a request: done
reserved: 70 MiB
max_split_size_mb:21 meanwhile: done
one in which cudaMalloc has been asked when the setting changes: done
reserved: 72 MiB
`}, {"pinned_reserve", "`pinned_reserve_segment_size_mb` is multiplied into bytes", `
2^44 + 1 MiB: done
in bytes: 1048576
`}, {"open_during_close", "The last user may close the handle while another opens it", `
cudaIpcOpenMemHandle
another thread opens it: devptr INTERNAL ASSERT FAILED at "/pytorch/c10/cuda/CUDACachingAllocator
cudaIpcCloseMemHandle
the first user is gone
`}, {"throwing_tracker", "Trace trackers are called in the middle of an operation", `
a request: the tracker throws
reserved: 20 MiB, allocated: 0 bytes, 0 segments in the snapshot
emptying the cache: done
reserved: 20 MiB
`}, {"null_observer", "A callback, observer or tracker that is null", `
a request larger than the device: bad_function_call
`}, {"odd_memory", "The memory that a pool's own allocator returns is taken as it is", `
its memory lies in that of another: yes
a request of 30 MiB: done
`},
}

const rowFreeRestore = "A pointer leaves the table before the device's mutex is taken"

// cplusplusRow is a program of the file, the row that it shows, and what it prints.
type cplusplusRow struct{ name, row, prints string }

func TestRowsInCplusplus(t *testing.T) {
	if testing.Short() {
		t.Skip("a program in C++, of which the race detector sees nothing")
	}
	o := built(t)
	program := compileCplusplus(t, o, filepath.Join("cplusplus", "rows.cc"))
	// Memory that was freed does not go on as it was.
	variables := []string{"GAUGEBLOCK_CUDA_MEMORY=100MiB", "GAUGEBLOCK_CUDA_HAZARDS=off", "MALLOC_PERTURB_=165"}
	for _, r := range cplusplusRows {
		out, err := onFakeLibraries(t, o, program, variables, r.name)
		if err != nil {
			out += strings.TrimSuffix(err.Error(), " (core dumped)") + "\n"
		}
		if "\n"+out != r.prints {
			t.Errorf("%s: it prints\n%s", r.name, out)
		}
	}
}

// TestCplusplusRows: docs/deviations.md says of these rows, and of no others, that they are shown
// in this way.
func TestCplusplusRows(t *testing.T) {
	const mark = "`tools/torch.TestRowsInCplusplus`"
	page := deviations(t)
	shown := map[string]bool{}
	for _, r := range cplusplusRows {
		row := findRow(page, r.row)
		if !strings.Contains(row, mark) {
			t.Errorf("docs/deviations.md does not say that %s is shown: %q", r.name, row)
		}
		shown[row] = true
	}
	for _, row := range page {
		if strings.Contains(row, mark) && !shown[row] {
			t.Errorf("docs/deviations.md says that this is shown: %s", row)
		}
	}
}
