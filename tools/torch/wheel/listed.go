package wheel

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// A line of listed.txt is a release: its version, and the SHA-256 of libc10.so, of libc10_cuda.so,
// and of the list of all other files, which is what "sha256sum" prints for them in the order of
// their names.
//
//go:embed listed.txt
var listed string

// Listed are the versions of the releases that are listed, the oldest first.
func Listed() (versions []string) {
	for line := range strings.Lines(listed) {
		if version, _, _ := strings.Cut(line, " "); full.MatchString(version) {
			versions = append(versions, version)
		}
	}
	return versions
}

// lineOf is the line of a release; "" if it is not listed.
func lineOf(version string) string {
	for line := range strings.Lines(listed) {
		if strings.HasPrefix(line, version+" ") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// lineFor makes the line of a release whose files are in a folder.
func lineFor(version, dir string) (string, error) {
	const c10, cuda = "torch/lib/libc10.so", "torch/lib/libc10_cuda.so"
	libraries := map[string]string{}
	var others strings.Builder
	files := os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		sum := sha256.Sum256(content)
		if name == c10 || name == cuda {
			libraries[name] = hex.EncodeToString(sum[:])
		} else {
			fmt.Fprintf(&others, "%x  %s\n", sum, name)
		}
		return err
	})
	for _, name := range []string{c10, cuda} {
		if libraries[name] == "" {
			err = errors.Join(err, fmt.Errorf("the wheel has no %s", name))
		}
	}
	return fmt.Sprintf("%s %s %s %x", version, libraries[c10], libraries[cuda],
		sha256.Sum256([]byte(others.String()))), err
}
