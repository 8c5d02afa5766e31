package golden

import (
	"gaugeblock/internal/checkout"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// notSupported lists the traces that the reference cannot replay, with the reason. Any other
// trace that cannot be replayed is a failure.
var notSupported = map[string]string{}

// TestGolden replays every recorded trace: those in testdata and, where the
// checkout has a sibling directory "shared", those in its "golden".
func TestGolden(t *testing.T) {
	files, err := checkout.AllTraces()
	if err != nil {
		t.Fatal(err)
	}

	var mu sync.Mutex
	var tally replay.Tally
	refused := map[string]string{}
	t.Run("traces", func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				result, err := replay.File(files[name], replay.Options{New: reference.New})
				if err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				defer mu.Unlock()
				tally.Add(&result)
				switch {
				case result.NotSupported != "":
					refused[name] = result.NotSupported
				case !result.Exact:
					t.Error(&result)
				case result.Compared != result.Operations:
					t.Errorf("only %d of %d operations were compared", result.Compared, result.Operations)
				}
			})
		}
	})
	t.Log(tally)
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		t.Logf("%s: not supported: %s", name, refused[name])
	}
	if diff := cmp.Diff(notSupported, refused); diff != "" {
		t.Errorf("not supported (- as listed, + as found):\n%s", diff)
	}
}

// TestSelection: the project's own selection has every family in it.
func TestSelection(t *testing.T) {
	want := map[string]int{
		"basic": 22, "capture": 15, "checkpoint": 11, "configure": 3, "gc": 11, "multipool": 6, "oom": 21, "oversize": 8,
		"pool_oom": 4, "pools": 8, "realoom": 13, "small": 8, "streams": 11, "toggle": 4, "wide": 9,
	}
	own, err := checkout.OwnTraces()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for name := range own {
		family, _, _ := strings.Cut(name, "-")
		got[family]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
