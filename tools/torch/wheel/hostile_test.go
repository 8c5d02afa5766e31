package wheel

import (
	"archive/zip"
	"bytes"
	"flag"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/internal/mutated"
)

var (
	mutatedWheels = flag.Int("mutated", 500, "how many damaged wheels are unpacked")
	mutatedSeed   = flag.Uint64("mutated-seed", 1, "of the damage")
)

// TestMutatedWheels: of a damaged wheel what is needed is unpacked as it was, or an error says that it is the wheel's.
// No other file is written, and none elsewhere.
func TestMutatedWheels(t *testing.T) {
	good, other := wheelOf(t, "2.14.1"), wheelOf(t, "2.15.0")
	r := rand.New(rand.NewPCG(*mutatedSeed, 35))
	whole := 0
	for i := range *mutatedWheels {
		text := mutated.Bytes(r, good, other)
		dir := t.TempDir()
		err := unpack(bytes.NewReader(text), int64(len(text)), filepath.Join(dir, "files"))
		if err != nil && !strings.HasPrefix(err.Error(), "the wheel: ") {
			t.Errorf("wheel %d: %v", i, err)
		}
		if err == nil {
			whole++
		}
		if problem := unexpected(dir); problem != "" {
			t.Errorf("wheel %d: %s", i, problem)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d can be unpacked", whole, *mutatedWheels)
}

// unexpected says what is in a folder but files of wheels, unpacked below "files".
func unexpected(dir string) (problem string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, below := strings.CutPrefix(path, filepath.Join(dir, "files")+"/")
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !below || !needed(name) {
			problem = path + " was written"
		} else if s := string(text); s != "" && s != files("2.14.1")[name] && s != files("2.15.0")[name] && !strings.HasSuffix(name, ".h") {
			problem = fmt.Sprintf("%s has %.40q", path, s)
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	return problem
}

// TestHostileWheels: names that lead elsewhere are not needed, and what is too long is refused before it is unpacked.
func TestHostileWheels(t *testing.T) {
	type file struct {
		name string
		size uint64 // that it says
		is   int
	}
	for _, c := range []struct {
		name, says string
		files      []file
	}{
		{"elsewhere", "", []file{{"torch/include/c10/../../../../out.h", 1, 1}, {"/torch/include/c10/a.h", 1, 1}, {"torch/lib/../lib/libc10.so", 1, 1}, {"torch/include/c10/b.h", 1, 1}}},
		{"a folder that is a file", "the wheel: torch/include/c10/a.h/b.h: mkdir ", []file{{"torch/include/c10/a.h", 1, 1}, {"torch/include/c10/a.h/b.h", 1, 1}}},
		{"too long", "the wheel: torch/lib/libc10.so is longer than any file", []file{{"torch/lib/libc10.so", longestFile + 1, 1}}},
		{"as long as may be", "the wheel: torch/lib/libc10.so: ", []file{{"torch/lib/libc10.so", longestFile, 1}}},
		{"more than it says", "the wheel: torch/version.py: ", []file{{"torch/version.py", 3, 5000}}},
		{"less than it says", "the wheel: torch/version.py: ", []file{{"torch/version.py", 5000, 3}}},
	} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, f := range c.files {
			w, err := z.CreateRaw(&zip.FileHeader{Name: f.name, Method: zip.Store, UncompressedSize64: f.size, CompressedSize64: uint64(f.is), CRC32: crc32.ChecksumIEEE(make([]byte, f.is))})
			if err == nil {
				_, err = w.Write(make([]byte, f.is))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		err := unpack(bytes.NewReader(b.Bytes()), int64(b.Len()), filepath.Join(dir, "a", "b", "files"))
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
		if _, err := os.Stat(filepath.Join(dir, "a", "b", "files", "torch", "include", "c10", "b.h")); (err == nil) != (c.says == "") {
			t.Errorf("%s: of the header that is needed: %v", c.name, err)
		}
		for _, path := range []string{filepath.Join(dir, "out.h"), filepath.Join(dir, "a", "out.h"), filepath.Join(dir, "a", "b", "out.h"), "/torch"} {
			if _, err := os.Lstat(path); err == nil {
				t.Errorf("%s: %s was written", c.name, path)
			}
		}
	}
}
