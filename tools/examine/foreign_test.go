package examine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/internal/race"
)

// TestForeign: allocators whose sources lie beside the repository are what is known of them: four over
// cudaMallocAsync, and taichi's, which ends a chunk too late.
func TestForeign(t *testing.T) {
	beside := filepath.Join("..", "..", "..", "shared", "foreign")
	if _, err := os.Stat(filepath.Join(beside, "taichi")); err != nil {
		t.Skip("there are no sources beside the repository")
	}
	if race.Enabled {
		t.Skip("many libraries: TestLevels and TestHang have the same goroutines")
	}
	for _, test := range []struct {
		source, version, variables, broken string
		longest                            int
	}{
		{"async/naive_async.cc", "", "", "", 0},
		{"async/cutting.cc", "", "", "", 0},
		{"async/poison.cc", "", "POISON=malloc", "", 0},
		{"async/poison.cc", "", "POISON=free", "", 0},
		{"async/wrong_stream.cc", "", "", "NoHazard NoIllegalAccess", 7},
		{"taichi/adaptor.cc", "8fe47c71e8", "", "NoHazard NoIllegalAccess LiveBlocksDisjoint LegalCallsSucceed", 7},
	} {
		t.Run(strings.TrimSpace(test.source+" "+test.version+" "+test.variables), func(t *testing.T) {
			var options []string
			if test.version != "" {
				sources := filepath.Join(beside, "taichi", "src", test.version)
				options = []string{
					"-I" + sources, "-I" + filepath.Join(beside, "taichi", "stubs"),
					filepath.Join(sources, "taichi", "rhi", "common", "unified_allocator.cpp"),
				}
			}
			library := compile(t, filepath.Join("..", "..", beside, test.source), options...)
			plant(t, test.variables)
			report, err := Search{Library: library, Level: conformance.Safe, Operations: 2000, Build: scratch}.Run()
			if err != nil {
				t.Fatal(err)
			}
			checkReport(t, report, strings.Fields(test.broken), test.longest)
		})
	}
}
