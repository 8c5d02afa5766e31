package wheel

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestHave: folders of the cache that are named after no release are none.
func TestHave(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("GAUGEBLOCK_CACHE", cache)
	for _, name := range []string{"torch-2.10.0", "torch-2.9.1", "torch-2.9", "torch-x", "torch", "2.8.0"} {
		if err := os.Mkdir(filepath.Join(cache, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := Have(); !slices.Equal(got, []string{"2.9.1", "2.10.0"}) {
		t.Errorf("the cache has %q", got)
	}
}
