package wheel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// All wheels are those of one Python, whatever the user has: the libraries are built anew for each.
var pythonOfWheels = []string{"--python-version", "3.12", "--implementation", "cp", "--only-binary", ":all:",
	"--platform", "manylinux_2_28_x86_64", "--platform", "manylinux2014_x86_64", "--platform", "manylinux1_x86_64"}

// A place is where the package index has a wheel.
type place struct{ version, url string }

// locate asks pip, and so the index that the user has configured, where a release is.
func locate(ctx context.Context, version string) (place, error) {
	args := append([]string{"install", "--dry-run", "--ignore-installed", "--target", filepath.Join(os.TempDir(), "gaugeblock-nothing-goes-here"), "--report", "-", "--quiet"}, pythonOfWheels...)
	out, err := pip(ctx, version, args...)
	if err != nil {
		return place{}, err
	}
	var report struct {
		Install []struct {
			Download struct {
				URL string `json:"url"`
			} `json:"download_info"`
			Metadata struct {
				Version string `json:"version"`
			} `json:"metadata"`
		} `json:"install"`
	}
	if err := json.Unmarshal(out, &report); err != nil || len(report.Install) != 1 {
		return place{}, fmt.Errorf("pip's report on torch makes no sense: %v", err)
	}
	found := report.Install[0]
	number, _, _ := strings.Cut(found.Metadata.Version, "+")
	return place{number, found.Download.URL}, nil
}

// download lets pip fetch the whole wheel into a folder. pip checks it against the hash that the
// index has.
func download(ctx context.Context, version, dir string) (wheel string, err error) {
	args := append([]string{"download", "--quiet", "--no-cache-dir", "--dest", dir}, pythonOfWheels...)
	if _, err := pip(ctx, version, args...); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(dir, "torch-*.whl"))
	if err != nil || len(files) != 1 {
		return "", errors.Join(err, errors.New("pip has fetched no wheel of torch"))
	}
	return files[0], nil
}

// pip runs pip for the package torch alone.
func pip(ctx context.Context, version string, args ...string) ([]byte, error) {
	requirement := "torch"
	if version != Newest {
		requirement += "==" + version
	}
	args = append(append([]string{"-m", "pip"}, args...), "--no-deps", "--disable-pip-version-check", requirement)
	temporary, err := os.MkdirTemp("", "gaugeblock-pip-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary) // pip leaves something there if it is ended
	c := exec.CommandContext(ctx, "python3", args...)
	c.Env = append(os.Environ(), "TMPDIR="+temporary)
	endsWhole(c)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	err = c.Run()
	switch text := said.String(); {
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("there is no python3, whose pip knows the package index")
	case strings.Contains(text, "No module named pip"):
		return nil, errors.New("python3 has no pip, which knows the package index")
	case strings.Contains(text, "from versions: none"):
		return nil, fmt.Errorf("pip reaches no package index that has torch for Linux (python3 -m pip download torch says more): %s", lastLine(text))
	case strings.Contains(text, "No matching distribution"):
		_, versions, _ := strings.Cut(text, "from versions: ")
		versions, _, _ = strings.Cut(versions, ")")
		return nil, fmt.Errorf("the package index has no PyTorch %s; it has %s", version, versions)
	default:
		return nil, fmt.Errorf("pip: %w: %s", err, lastLine(text))
	}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
