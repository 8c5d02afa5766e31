package main

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gaugeblock/internal/allrows"
)

// contents are the files of a wheel by name.
func contents(t *testing.T, path string) map[string][]byte {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// kind is the system and the processor that a program is for, in the words of tags.
func kind(program []byte) string {
	r := bytes.NewReader(program)
	if f, err := elf.NewFile(r); err == nil {
		return map[elf.Machine]string{elf.EM_AARCH64: "manylinux aarch64", elf.EM_X86_64: "manylinux x86_64"}[f.Machine]
	}
	if f, err := macho.NewFile(r); err == nil {
		return map[macho.Cpu]string{macho.CpuArm64: "macosx arm64", macho.CpuAmd64: "macosx x86_64"}[f.Cpu]
	}
	if f, err := pe.NewFile(r); err == nil {
		return map[uint16]string{pe.IMAGE_FILE_MACHINE_ARM64: "win arm64", pe.IMAGE_FILE_MACHINE_AMD64: "win amd64"}[f.Machine]
	}
	return "no program"
}

// The wheels for other platforms have a program of theirs, the Python package, and no library of the
// fake GPU. The systems have files of their own, the processors have none: one of each system's is tried. The package works with the program of this
// system in the place of theirs, which cannot be executed here.
func TestPlatforms(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command for other platforms")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	folder := t.TempDir()
	t.Chdir(filepath.Join("..", ".."))
	program := filepath.Join(folder, "program")
	if err := (platform{system: runtime.GOOS, processor: runtime.GOARCH}).command(program, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, p := range platforms {
		if p.fake || tried[p.system] || !allrows.Asked() && p.system != "linux" {
			continue // TestWheel has that with the fake GPU
		}
		tried[p.system] = true
		t.Run(p.tag, func(t *testing.T) {
			if err := p.wheel(folder, "1.2.3"); err != nil {
				t.Fatal(err)
			}
			files := contents(t, filepath.Join(folder, fmt.Sprintf("gaugeblock-1.2.3-py3-none-%s.whl", p.tag)))
			system, processor, _ := strings.Cut(kind(files["gaugeblock/bin/gaugeblock"+p.suffix()]), " ")
			if !strings.HasPrefix(p.tag, system+"_") || !strings.HasSuffix(p.tag, "_"+processor) {
				t.Errorf("the program is for %s, %s", system, processor)
			}
			if files["gaugeblock/__init__.py"] == nil || files["gaugeblock-1.2.3.dist-info/RECORD"] == nil {
				t.Error("the package is not there")
			}
			for name := range files {
				if strings.Contains(name, "fake-cuda") {
					t.Errorf("it has %s", name)
				}
			}
			files["gaugeblock/bin/gaugeblock"+p.suffix()] = own
			elsewhere(t, python, p.system, files)
		})
	}
}

// elsewhere runs testdata/elsewhere.py with the files of a wheel.
func elsewhere(t *testing.T, python, system string, files map[string][]byte) {
	t.Helper()
	site := t.TempDir()
	for name, text := range files {
		path := filepath.Join(site, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(python, "tools/release/testdata/elsewhere.py", system, "snapshot/testdata/small.4.pickle", t.TempDir())
	c.Env = append(os.Environ(), "PYTHONPATH="+site)
	if said, err := c.CombinedOutput(); err != nil || !strings.Contains(string(said), "all checked") {
		t.Errorf("%v\n%s", err, said)
	}
}
