package torch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/race"
	"gaugeblock/upstream"
)

// Deviations that need several threads, or entry points that spec.Allocator does not have, on
// PyTorch's own allocator in C++ (testdata/cplusplus/rows.cc). A PyTorch that is mended prints
// something else.
var cplusplusRows = []cplusplusRow{
	{"callback_order", "order/callbacks", `
a request larger than the device: CUDA out of memory
third
second
first
`}, {"callback_thread", "callers/callback-under-mutex", `
the other thread's request returns during the callback: no
a request larger than the device: CUDA out of memory
the other thread's request returns afterwards
`}, {"no_filter", "misuse/no-filter", `
a request: bad_function_call
`}, {"raw_sizes", "misuse/huge-request", `
allocate: CUDA out of memory
raw_alloc: done
raw_alloc of 512 bytes: done
the two have one address: yes; allocated 512 bytes
`}, {"raw_toggle", "misuse/caching-toggled", `
raw_delete of a block of the cache: done
the device got back 2097152 bytes; reserved are 2097152, as before
`}, {"limit", "kept/limit-without-lock", `
a request of 30 MiB meanwhile: done
a request of 30 MiB, of 50 MiB that are allowed: done
reserved: 60 MiB
one more: CUDA out of memory
`}, {"pool_gone", "pools/gone-during-malloc", `
the pool is given up, and the cache emptied
signal: segmentation fault
`}, {"freeing_thread", "history/freeing-thread", `
alloc: allocating
free_requested: freeing
free_completed: freeing
`}, {"free_restore", "callers/free-beside-restore", `
the restore gives back the memory that is being freed: yes
the free: done
allocated: 0 bytes
it gets the same memory: yes
a request: done
`}, {"free_restore_part", "callers/free-beside-restore", `
the restore gives back the memory that is being freed: yes
the free: inserted INTERNAL ASSERT FAILED
allocated: 0 bytes
it gets the same memory: no
a request: done
`}, {"settings_meanwhile", "settings/read-without-lock", `
a request: done
reserved: 70 MiB
max_split_size_mb:21 meanwhile: done
one in which cudaMalloc has been asked when the setting changes: done
reserved: 72 MiB
`}, {"pinned_reserve", "settings/pinned-reserve-wraps", `
2^44 + 1 MiB: done
in bytes: 1048576
`}, {"open_during_close", "sharing/close-during-open", `
cudaIpcOpenMemHandle
another thread opens it: devptr INTERNAL ASSERT FAILED
cudaIpcCloseMemHandle
the first user is gone
`}, {"throwing_tracker", "misuse/throwing-tracker", `
a request: the tracker throws
reserved: 20 MiB, allocated: 0 bytes, 0 segments in the snapshot
emptying the cache: done
reserved: 20 MiB
`}, {"null_observer", "misuse/null-callback", `
a request larger than the device: bad_function_call
`}, {"odd_memory", "misuse/pool-memory-overlaps", `
its memory lies in that of another: yes
a request of 30 MiB: done
`},
}

// cplusplusRow is a program of the file, the deviation that it shows, and what it prints.
type cplusplusRow struct{ name, row, prints string }

func TestRowsInCplusplus(t *testing.T) {
	if race.Enabled {
		t.Skip("a program in C++, of which the race detector sees nothing")
	}
	o := built(t)
	program := compileCplusplus(t, o, filepath.Join("testdata", "cplusplus", "rows.cc"))
	// Memory that was freed does not go on as it was. From 2.13 PyTorch logs each request that fails.
	variables := []string{"GAUGEBLOCK_CUDA_MEMORY=100MiB", "GAUGEBLOCK_CUDA_HAZARDS=off", "MALLOC_PERTURB_=165", "TORCH_CPP_LOG_LEVEL=ERROR"}
	for _, r := range cplusplusRows {
		d := upstream.FindDeviation(r.row)
		if !within(o.Release().Name, d.From, d.Until) {
			continue
		}
		out, err := onFakeLibraries(t, o, program, variables, r.name)
		if fmt.Sprint(err) == "exit status 2" && !within(o.Release().Name, "2.11", "") {
			continue // its entry points came with 2.11
		}
		if err != nil {
			out += strings.TrimSuffix(err.Error(), " (core dumped)") + "\n"
		}
		if "\n"+out != r.prints {
			t.Errorf("%s: it prints\n%s", r.name, out)
		}
	}
}

// TestCplusplusRows: these deviations, and no others, say that they are shown in this way.
func TestCplusplusRows(t *testing.T) {
	const name = "tools/torch.TestRowsInCplusplus"
	for _, d := range upstream.Deviations() {
		shown := slices.ContainsFunc(cplusplusRows, func(r cplusplusRow) bool { return r.row == d.ID })
		if says := slices.Contains(d.Shown, name); says != shown {
			t.Errorf("%s is shown in C++: %v; it says so: %v", d.ID, shown, says)
		}
	}
	for _, r := range cplusplusRows {
		if upstream.FindDeviation(r.row) == nil {
			t.Errorf("%s: there is no deviation %q", r.name, r.row)
		}
	}
}
