package run

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"gaugeblock/fakegpu/cuda"
	"gaugeblock/internal/cache"
	"gaugeblock/internal/checkout"
	"gaugeblock/python"
)

// LibrariesVariable names a folder with the libraries, as "make fake-cuda" builds it.
const LibrariesVariable = "GAUGEBLOCK_LIBRARIES"

// Libraries is a folder with the libraries of the fake GPU: that of the variable, or fake-cuda
// beside the executable, or else one in the user's cache (cache.Folder), where they are built if this executable
// has not built them before. Say hears that they are being built.
func Libraries(say func(string)) (string, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", errors.New("the fake GPU is for Linux on x86-64; whatif, report and replay need none")
	}
	if given := os.Getenv(LibrariesVariable); given != "" {
		return given, complete(given)
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if beside := filepath.Join(filepath.Dir(self), "fake-cuda"); complete(beside) == nil {
		return beside, nil
	}
	key, err := fingerprint(self)
	if err != nil {
		return "", err
	}
	in, err := cache.Folder()
	if err != nil {
		return "", err
	}
	to := filepath.Join(in, key)
	if complete(to) == nil {
		return to, nil
	}
	say("building the libraries of the fake GPU, once")
	return to, build(to)
}

// complete is an error if a folder lacks one of the libraries.
func complete(folder string) error {
	for _, name := range append(cuda.Thin(), "libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libnvidia-ml.so.1", cuda.MachineName) {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("the libraries of the fake GPU are not all there: %w", err)
		}
	}
	return nil
}

// fingerprint is short for what an executable contains.
func fingerprint(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

// build builds the libraries in a folder, which is there only if all of them are.
func build(folder string) error {
	root, err := checkout.Root()
	if err != nil {
		return errors.New("the libraries of the fake GPU are not there, and can be built in a checkout of gaugeblock only: " +
			"run \"make command\" there, which puts them beside the command in build/")
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(folder), "part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	for _, step := range []func() error{
		func() error { return cuda.Build(part) },
		func() error { return cuda.BuildThin(part, nil) },
		func() error { return cuda.BuildMachine(root, part) },
		func() error { return os.Chmod(part, 0o755) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := os.Rename(part, folder); err != nil && complete(folder) != nil { // another process may have built them
		return err
	}
	return nil
}

// unpackSite writes what is loaded into Python to a folder below another one.
func unpackSite(below string) (string, error) {
	if err := os.CopyFS(below, python.Site); err != nil {
		return "", err
	}
	return filepath.Join(below, "site"), nil
}
