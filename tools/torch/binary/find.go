package binary

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gaugeblock/internal/quote"
	"gaugeblock/upstream"
)

// Find finds PyTorch: in a directory, which is either the package's (torch/) or that of its
// libraries (torch/lib), or, if none is given, where python3 finds it. Headers are looked
// for in the folder include beside the libraries' one, or in the archive include.tgz there,
// which is unpacked in work. If anything is missing the error is an *UnavailableError.
func Find(dir, work string) (Options, error) {
	o := Options{Work: work}
	if dir == "" {
		var err error
		if dir, err = installed(); err != nil {
			return o, err
		}
	}
	if there(filepath.Join(dir, "lib", "libc10_cuda.so")) {
		dir = filepath.Join(dir, "lib")
	}
	if !there(filepath.Join(dir, "libc10_cuda.so")) {
		return o, &UnavailableError{fmt.Sprintf("there is no libc10_cuda.so in %s", quote.Text(dir))}
	}
	o.Libraries = dir
	torch := filepath.Dir(dir)
	for _, headers := range []string{"nvidia/cu13/include", "nvidia/cuda_runtime/include"} {
		if path := filepath.Join(torch, "..", headers); there(filepath.Join(path, "cuda_runtime_api.h")) {
			o.CUDAHeaders = path
		}
	}
	o.Headers = filepath.Join(torch, "include")
	if there(filepath.Join(o.Headers, "c10")) {
		return o, nil
	}
	o.Headers = filepath.Join(work, "headers")
	if err := unpack(filepath.Join(torch, "include.tgz"), o.Headers); err != nil {
		return o, &UnavailableError{"its headers: " + err.Error()}
	}
	return o, nil
}

// Version is PyTorch's, by its headers or, before 2.10, by version.py; "" if they do not say.
func (o Options) Version() string {
	mark := "#define TORCH_VERSION "
	text, err := os.ReadFile(filepath.Join(o.Headers, "torch", "headeronly", "version.h"))
	if err != nil {
		mark = "__version__ = "
		text, _ = os.ReadFile(filepath.Join(o.Libraries, "..", "version.py"))
	}
	_, after, _ := strings.Cut(string(text), mark)
	quoted := strings.FieldsFunc(after, func(r rune) bool { return strings.ContainsRune("\\'\" \n", r) })
	if len(quoted) == 0 {
		return ""
	}
	return quoted[0]
}

// Release is the release whose rules the library follows; the newest that is known if nothing
// tells.
func (o Options) Release() upstream.Release {
	f, err := os.Open(filepath.Join(o.Libraries, "libc10_cuda.so"))
	if err != nil {
		return upstream.Newest()
	}
	defer f.Close()
	release, err := upstream.OfLibrary(f)
	if err != nil {
		return upstream.Newest()
	}
	return release
}

// runtime is the file of the fake CUDA runtime that PyTorch's libraries are linked with.
func (o Options) runtime() string {
	text, _ := os.ReadFile(filepath.Join(o.Libraries, "libc10_cuda.so"))
	if bytes.Contains(text, []byte("libcudart.so.12")) {
		return filepath.Join(o.Work, "libcudart.so.12")
	}
	return filepath.Join(o.Work, "libcudart.so.13")
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// installed is where python3 has PyTorch.
func installed() (string, error) {
	const program = "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
	out, err := exec.Command("python3", "-c", program).Output()
	if err != nil {
		return "", &UnavailableError{"python3 cannot be asked where it is: " + err.Error()}
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return "", &UnavailableError{"python3 has no torch"}
	}
	return dir, nil
}

// unpack unpacks the headers of an archive.
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
