package trace

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// ReadFile reads a whole trace. Open reads one operation at a time.
func ReadFile(path string) (h Header, ops []Op, end *End, err error) {
	t, err := Open(path)
	if err != nil {
		return h, nil, nil, err
	}
	defer t.Close()
	for {
		op, err := t.Next()
		switch err {
		case nil:
			ops = append(ops, *op)
		case io.EOF:
			return *t.Header(), ops, t.End(), nil
		default:
			return *t.Header(), ops, nil, err
		}
	}
}

// WriteFile writes a whole trace, compressed if the name ends in ".gz". The
// file appears under its name when it is complete, and not at all if anything
// goes wrong. end may be nil.
func WriteFile(path string, h Header, ops []Op, end *End) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if strings.HasSuffix(path, ".gz") {
		err = writeCompressed(file, h, ops, end)
	} else {
		err = Write(file, h, ops, end)
	}
	if err != nil {
		return err
	}
	if err := file.Chmod(0o644); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

func writeCompressed(w io.Writer, h Header, ops []Op, end *End) error {
	zip := gzip.NewWriter(w)
	if err := Write(zip, h, ops, end); err != nil {
		return err
	}
	return zip.Close()
}

// Write writes a whole trace. A Writer writes one operation at a time. end may be nil.
// The error for an operation names it by its index. Part of the trace may have been
// written then.
func Write(w io.Writer, h Header, ops []Op, end *End) error {
	t, err := NewWriter(w, h)
	if err != nil {
		return err
	}
	for i := range ops {
		if err := t.Write(&ops[i]); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
	}
	return t.Close(end)
}
