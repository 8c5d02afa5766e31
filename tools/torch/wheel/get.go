package wheel

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// A Got is a release that is in the cache.
type Got struct {
	Version string
	Dir     string // of the package
	Was     bool   // it was there before
	Line    string // of listed.txt; not "" if the release is not listed there
}

// Get fetches a release into the cache. What it has fetched must have the hashes that listed.txt
// says. A release that is not listed there is fetched whole, so that pip checks it against the
// index's hash. If anything fails, or ctx ends, the cache is as before.
func Get(ctx context.Context, version string) (Got, error) {
	version, err := Resolve(version)
	if err != nil {
		return Got{}, err
	}
	if got, err := had(version); err == nil {
		return got, nil
	}
	found, err := locate(ctx, version)
	if err != nil {
		return Got{}, err
	}
	if version == Newest {
		if got, err := had(found.version); err == nil {
			return got, nil
		}
	} else if found.version != version {
		return Got{}, fmt.Errorf("the package index has PyTorch %s where %s was asked for", found.version, version)
	}
	return fetch(ctx, found)
}

// had is a release that is in the cache.
func had(version string) (Got, error) {
	if version == Newest {
		return Got{}, missing(version)
	}
	dir, err := Find(version)
	return Got{Version: version, Dir: dir, Was: true}, err
}

func fetch(ctx context.Context, from place) (got Got, err error) {
	to, err := folder(from.version)
	if err != nil {
		return got, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return got, err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(to), "fetching-")
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	files := filepath.Join(scratch, "files")
	if err := unpackFrom(ctx, from, scratch, files); err != nil {
		return got, err
	}
	line, err := lineFor(from.version, files)
	if err != nil {
		return got, err
	}
	got = Got{Version: from.version, Dir: filepath.Join(to, "torch")}
	switch known := lineOf(from.version); known {
	case line:
	case "":
		got.Line = line
	default:
		return Got{}, fmt.Errorf("what the package index has as PyTorch %s is not the release that is listed: its hashes are\n%s\nand not\n%s", from.version, line, known)
	}
	if err := os.Chmod(files, 0o755); err != nil {
		return Got{}, err
	}
	if err := os.Rename(files, to); err != nil {
		if again, there := had(from.version); there == nil { // another process was faster
			return again, nil
		}
		return Got{}, err
	}
	return got, nil
}

// unpackFrom unpacks what is needed of a wheel into a folder: of parts of it, if it is listed and
// the server serves them, else of all.
func unpackFrom(ctx context.Context, from place, scratch, to string) error {
	if lineOf(from.version) != "" {
		parts, err := newRanges(ctx, from.url)
		if err == nil {
			err = unpack(parts, parts.size, to)
		}
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
	wheel, err := download(ctx, from.version, scratch)
	if err != nil {
		return err
	}
	f, err := os.Open(wheel)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return unpack(f, info.Size(), to)
}

// needed reports whether a file of a wheel is.
func needed(name string) bool {
	switch name {
	case "torch/version.py", "torch/lib/libc10.so", "torch/lib/libc10_cuda.so":
		return true
	}
	header := strings.HasSuffix(name, ".h") && filepath.IsLocal(name)
	return header && (strings.HasPrefix(name, "torch/include/c10/") || strings.HasPrefix(name, "torch/include/torch/headeronly/"))
}

const (
	longestFile = 64 << 20
	longestAll  = 256 << 20
)

// unpack unpacks what is needed of a wheel.
func unpack(wheel io.ReaderAt, size int64, to string) error {
	z, err := zip.NewReader(wheel, size)
	if err != nil {
		return fmt.Errorf("the wheel: %w", err)
	}
	all := uint64(0)
	for _, f := range z.File {
		if !needed(f.Name) {
			continue
		}
		if all += f.UncompressedSize64; f.UncompressedSize64 > longestFile || all > longestAll {
			return fmt.Errorf("the wheel: %s is longer than any file that is needed", f.Name)
		}
		if err := unpackFile(f, filepath.Join(to, filepath.FromSlash(f.Name))); err != nil {
			return fmt.Errorf("the wheel: %s: %w", f.Name, err)
		}
	}
	return nil
}

func unpackFile(f *zip.File, to string) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(in, longestFile)) // to its end the sum of the zip file is checked
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
