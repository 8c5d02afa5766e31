package broken

import (
	"path/filepath"
	"testing"
)

// TestPiecesAreThere: each piece that is to be replaced is in the source, here, in tools/torch and
// in tests/graphtree.
func TestPiecesAreThere(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, pattern := range []string{"testdata/*.txt", "testdata/locks/*.txt", "testdata/memory/*.txt", "../../tools/torch/testdata/seeded/*.txt", "../graphtree/testdata/rules/*.txt"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			files++
			b, err := Read(path)
			if err != nil {
				t.Error(err)
				continue
			}
			if _, err := b.Overlay(root, t.TempDir()); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if files < 40 {
		t.Errorf("only %d files", files)
	}
}
