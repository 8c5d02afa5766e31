package torch

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/tests/golden"
	"gaugeblock/torchimpl"
)

// New makes PyTorch's allocator, with the settings that the header asks for. It is a
// replay.Factory; torchimpl.Load comes before.
func New(driver spec.Driver, h *spec.TraceHeader) (spec.Allocator, error) {
	if h.Geometry != (spec.Geometry{}) && h.Geometry != spec.DefaultGeometry() {
		return nil, &spec.NotSupportedError{Op: "geometry", Reason: "PyTorch's is its own"}
	}
	return torchimpl.New(driver, h.Settings)
}

// Beside finds PyTorch in the folder shared/torch beside the project, and unpacks its
// headers in a directory. The error is a *torchimpl.UnavailableError if it is not there.
func Beside(work string) (torchimpl.Options, error) {
	root, err := golden.Root()
	if err != nil {
		return torchimpl.Options{}, err
	}
	folder := filepath.Join(root, "..", "shared", "torch")
	if _, err := os.Stat(filepath.Join(folder, "lib", "libc10_cuda.so")); err != nil {
		// A second checkout may lie one level deeper.
		folder = filepath.Join(root, "..", "..", "shared", "torch")
	}
	o := torchimpl.Options{
		Libraries: filepath.Join(folder, "lib"), Headers: filepath.Join(work, "headers"), Work: work,
	}
	if err := unpack(filepath.Join(folder, "include.tgz"), o.Headers); err != nil {
		return o, &torchimpl.UnavailableError{Reason: err.Error()}
	}
	return o, nil
}

// unpack unpacks the regular files of an archive.
func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	files := tar.NewReader(zip)
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) || !strings.HasSuffix(h.Name, ".h") {
			continue
		}
		path := filepath.Join(dir, h.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		text, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
}
