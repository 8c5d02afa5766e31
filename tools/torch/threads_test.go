package torch

import (
	"flag"
	"path/filepath"
	"strconv"
	"testing"

	"gaugeblock/internal/allrows"
	"gaugeblock/internal/race"
)

var threadRounds = flag.Int("rounds", 1, "programs of TestThreads with each settings")

// TestThreads: several threads use PyTorch's allocator at once. What is allocated does not
// overlap, no work comes to memory that is used otherwise, and when all has been freed the
// figures say so.
func TestThreads(t *testing.T) {
	if race.Enabled {
		t.Skip("a program in C++, of which the race detector sees nothing")
	}
	o := built(t)
	program := compileCplusplus(t, o, filepath.Join("testdata", "cplusplus", "threads.cc"))
	const threads, operations = "4", "3000"
	variables := []string{
		"GAUGEBLOCK_CUDA_MEMORY=512MiB", "GAUGEBLOCK_CUDA_ADDRESSES=ascending", "GAUGEBLOCK_CUDA_HAZARDS=owners",
		"GAUGEBLOCK_CUDA_SCHEDULE=random", "GAUGEBLOCK_CUDA_WAITS=drain",
	}
	for i, settings := range []string{
		"roundup_power2_divisions:1", "expandable_segments:True", "release_lock_on_cudamalloc:True",
		"max_split_size_mb:21,garbage_collection_threshold:0.5",
	} {
		if allrows.Without(i, 2) {
			continue
		}
		for seed := range *threadRounds {
			out, err := onFakeLibraries(t, o, program, variables, strconv.Itoa(seed), threads, operations, settings)
			t.Logf("%s, seed %d: %s", settings, seed, out)
			if err != nil {
				t.Errorf("%s, seed %d: %v\n%s", settings, seed, err, out)
			}
		}
	}
}
