package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gaugeblock/fakegpu/cuda"
	"gaugeblock/snapshot/record"
)

// A member is a file of a wheel.
type member struct {
	text       []byte
	executable bool
}

// wheel is what is written to a wheel: its files by name.
type wheel map[string]member

// wheel builds the wheel of a platform in a folder.
func (p platform) wheel(dir, version string) error {
	scratch, err := os.MkdirTemp("", "gaugeblock-wheel-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if err := p.command(filepath.Join(scratch, "gaugeblock"+p.suffix()), version); err != nil {
		return err
	}
	if p.fake {
		libraries := filepath.Join(scratch, "fake-cuda")
		err := errors.Join(os.Mkdir(libraries, 0o755), cuda.Build(libraries), cuda.BuildThin(libraries, nil), cuda.BuildMachine(".", libraries))
		if err != nil {
			return err
		}
	}
	w := wheel{"gaugeblock/" + record.FileName: {text: []byte(record.Recorder)}}
	if err := w.folder("gaugeblock/bin", scratch); err != nil {
		return err
	}
	if err := w.folder("gaugeblock", "python/gaugeblock"); err != nil {
		return err
	}
	if p.tag == "" {
		if p.tag, err = w.linuxTag(); err != nil {
			return err
		}
	}
	if err := w.metadata(version, p.tag); err != nil {
		return err
	}
	name := fmt.Sprintf("gaugeblock-%s-py3-none-%s.whl", version, p.tag)
	return os.WriteFile(filepath.Join(dir, name), w.zip(version), 0o644)
}

// folder adds the files of a folder. Links, by which only compilers find the libraries, and what
// Python has compiled are left out.
func (w wheel) folder(to, from string) error {
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.HasSuffix(file, ".pyc") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		w[path.Join(to, filepath.ToSlash(below))] = member{text, strings.HasPrefix(below, "gaugeblock")}
		return nil
	})
}

// metadata adds the folder dist-info, without RECORD.
func (w wheel) metadata(version, tag string) error {
	readme, found := w["gaugeblock/README.md"]
	if !found {
		return errors.New("python/gaugeblock has no README.md")
	}
	delete(w, "gaugeblock/README.md")
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	info := distInfo(version)
	w[info+"METADATA"] = member{text: fmt.Appendf(nil, `Metadata-Version: 2.1
Name: gaugeblock
Version: %s
Summary: The memory of PyTorch programs: on a fake GPU, and from memory snapshots
Requires-Python: >=3.9
Description-Content-Type: text/markdown

%s`, version, readme.text)}
	w[info+"WHEEL"] = member{text: fmt.Appendf(nil, "Wheel-Version: 1.0\nGenerator: gaugeblock\nRoot-Is-Purelib: false\nTag: py3-none-%s\n", tag)}
	w[info+"entry_points.txt"] = member{text: []byte("[console_scripts]\ngaugeblock = gaugeblock.__main__:main\n\n[pytest11]\ngaugeblock = gaugeblock.pytest_plugin\n")}
	w[info+"LICENSE"] = member{text: license}
	return nil
}

func distInfo(version string) string { return fmt.Sprintf("gaugeblock-%s.dist-info/", version) }

// zip is the wheel's bytes, which are the same for the same files.
func (w wheel) zip(version string) []byte {
	var record strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w)) {
		sum := sha256.Sum256(w[name].text)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(w[name].text))
	}
	list := distInfo(version) + "RECORD"
	fmt.Fprintf(&record, "%s,,\n", list)
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	add := func(name string, m member) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
		h.SetMode(0o644)
		if m.executable {
			h.SetMode(0o755)
		}
		f, err := z.CreateHeader(h)
		if err == nil {
			_, err = f.Write(m.text)
		}
		if err != nil {
			panic(err) // a buffer takes everything
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w)) {
		add(name, w[name])
	}
	add(list, member{text: []byte(record.String())})
	_ = z.Close()
	return out.Bytes()
}
