package checkout

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// Root is the directory with go.mod, at or above the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod in any directory above")
		}
		dir = parent
	}
}

// OwnTraces lists the project's own traces by name.
func OwnTraces() (map[string]string, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	return in(filepath.Join(root, "tests", "golden", "testdata"))
}

// AllTraces lists the project's own traces by name, and those in the folder shared/golden beside
// the project, if it exists.
func AllTraces() (map[string]string, error) {
	files, err := OwnTraces()
	if err != nil {
		return nil, err
	}
	root, err := Root()
	if err != nil {
		return nil, err
	}
	beside, err := in(filepath.Join(root, "..", "shared", "golden"))
	maps.Copy(files, beside)
	return files, err
}

// in lists the traces of a directory, which need not exist.
func in(dir string) (map[string]string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, file := range found {
		files[strings.TrimSuffix(filepath.Base(file), ".jsonl.gz")] = file
	}
	return files, nil
}
