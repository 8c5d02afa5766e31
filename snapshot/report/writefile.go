package report

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes the page to a file, whole or not at all. What exists and is no regular
// file, such as /dev/null or a pipe, is written to and not replaced.
func WriteFile(path string, d *Data) error {
	if there, err := os.Stat(path); err == nil && !there.Mode().IsRegular() {
		return writeInto(path, d)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the link stays
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return notWritten(path, err)
	}
	buffered := bufio.NewWriter(file)
	err = cmp.Or(Write(buffered, d), buffered.Flush(), file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		os.Remove(file.Name())
		return notWritten(path, err)
	}
	return nil
}

// notWritten is an error about the path, not about the temporary file beside it.
func notWritten(path string, err error) error {
	var temporary *fs.PathError
	if errors.As(err, &temporary) {
		err = temporary.Err
	}
	return fmt.Errorf("%s cannot be written: %w", path, err)
}

// writeInto writes to what exists.
func writeInto(path string, d *Data) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return cmp.Or(Write(file, d), file.Close())
}
