package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// tree writes files below a new folder, which becomes the current one.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	return root
}

// TestUsage: the exit status and what is said, and that a build that fails leaves no file.
func TestUsage(t *testing.T) {
	tree(t, map[string]string{"go.mod": "module empty\n"})
	const usage = "usage: release wheels|binaries DIR VERSION\n"
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"", 2, usage}, {"wheels", 2, usage}, {"wheels to", 2, usage}, {"wheels to 1.2.0 more", 2, usage}, {"wheels to v1", 2, usage},
		{"eggs to 1.2.0", 2, usage}, {"wheels to 1.2.0", 1, "cmd/gaugeblock"}, {"binaries to 1.2.0", 1, "cmd/gaugeblock"},
		{"wheels go.mod 1.2.0", 1, "go.mod"}, {"binaries go.mod/to 1.2.0", 1, "go.mod"},
	} {
		var said bytes.Buffer
		if got := run(strings.Fields(c.args), &said); got != c.status || !strings.Contains(said.String(), c.says) {
			t.Errorf("%q: status %d, not %d: %s", c.args, got, c.status, &said)
		}
	}
	if files, err := os.ReadDir("to"); err != nil || len(files) != 0 {
		t.Error(files, err)
	}
}

// TestBinaries: the command is named after its platform and knows its version, and the sums are those of the files.
func TestBinaries(t *testing.T) {
	tree(t, map[string]string{
		"go.mod":                 "module gaugeblock\n",
		"cmd/gaugeblock/main.go": "package main\n\nvar released string\n\nfunc main() { print(released) }\n",
	})
	defer func(all []platform) { platforms = all }(platforms)
	host := platform{runtime.GOOS, runtime.GOARCH, "any", false}
	platforms = []platform{host, host}
	var said bytes.Buffer
	if status := run([]string{"binaries", "new/to", "1.2.0"}, &said); status != 0 || said.Len() != 0 {
		t.Fatal(status, &said)
	}
	name := fmt.Sprintf("gaugeblock-1.2.0-%s-%s%s", runtime.GOOS, runtime.GOARCH, platforms[0].suffix())
	text, err := os.ReadFile(filepath.Join("new/to", name))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("new/to/SHA256SUMS")
	if want := strings.Repeat(fmt.Sprintf("%x  %s\n", sha256.Sum256(text), name), 2); err != nil || string(sums) != want {
		t.Errorf("%q, not %q; %v", sums, want, err)
	}
	if info, err := os.Stat("new/to/SHA256SUMS"); err != nil || info.Mode().Perm()&0o444 != 0o444 || info.Mode().Perm()&0o111 != 0 {
		t.Error(info.Mode(), err)
	}
	if out, err := exec.Command(filepath.Join("new/to", name)).CombinedOutput(); err != nil || string(out) != "1.2.0" {
		t.Errorf("%q, %v", out, err)
	}
	for fake, want := range map[bool]string{false: "0", true: "1"} { // the libraries of the fake GPU need C
		host.fake = fake
		if err := host.command("built", "1.2.0"); err != nil {
			t.Fatal(err)
		}
		info, err := buildinfo.ReadFile("built")
		if err != nil || !slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: want}) {
			t.Errorf("with the fake GPU %v: %v, %v", fake, info.Settings, err)
		}
	}
	if got := (platform{system: "windows"}).suffix() + (platform{system: "darwin"}).suffix(); got != ".exe" {
		t.Error(got)
	}
}

// TestWheelFile: which files a wheel has, what pip reads of it, and that it is the same for the same files.
func TestWheelFile(t *testing.T) {
	root := tree(t, map[string]string{
		"LICENSE": "free", "p/README.md": "# Read", "p/__init__.py": "1", "p/old.pyc": "2", "p/__pycache__/a.pyc": "3",
		"bin/gaugeblock": "\x7fELF", "bin/fake-cuda/libcuda.so.1": "4",
	})
	if err := os.Symlink("libcuda.so.1", filepath.Join(root, "bin/fake-cuda/libcuda.so")); err != nil {
		t.Fatal(err)
	}
	w := wheel{}
	for to, from := range map[string]string{"gaugeblock": "p", "gaugeblock/bin": "bin"} {
		if err := w.folder(to, from); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.folder("gaugeblock", "none"); err == nil {
		t.Error("a folder that is not there is added")
	}
	if err := (wheel{}).metadata("1.2.0", "any"); err == nil || !strings.Contains(err.Error(), "README.md") {
		t.Error(err)
	}
	if err := w.metadata("1.2.0", "some_tag"); err != nil {
		t.Fatal(err)
	}
	text := w.zip("1.2.0")
	if !bytes.Equal(text, w.zip("1.2.0")) {
		t.Error("the same files make another wheel")
	}
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	const info = "gaugeblock-1.2.0.dist-info/"
	var names []string
	var record strings.Builder
	content := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		names, content[f.Name] = append(names, f.Name), string(text)
		if want := map[bool]fs.FileMode{true: 0o755, false: 0o644}[f.Name == "gaugeblock/bin/gaugeblock"]; f.Mode() != want || !f.Modified.Equal(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s: %v of %v", f.Name, f.Mode(), f.Modified)
		}
		if sum := sha256.Sum256(text); f.Name != info+"RECORD" {
			fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(text))
		}
	}
	if want := []string{
		info + "LICENSE", info + "METADATA", info + "WHEEL", info + "entry_points.txt",
		"gaugeblock/__init__.py", "gaugeblock/bin/fake-cuda/libcuda.so.1", "gaugeblock/bin/gaugeblock", info + "RECORD",
	}; !slices.Equal(names, want) {
		t.Errorf("%v, not %v", names, want)
	}
	for name, want := range map[string]string{
		"RECORD": record.String() + info + "RECORD,,\n", "LICENSE": "free",
		"WHEEL":            "Wheel-Version: 1.0\nGenerator: gaugeblock\nRoot-Is-Purelib: false\nTag: py3-none-some_tag\n",
		"entry_points.txt": "[console_scripts]\ngaugeblock = gaugeblock.__main__:main\n\n[pytest11]\ngaugeblock = gaugeblock.pytest_plugin\n",
	} {
		if content[info+name] != want {
			t.Errorf("%s: %q, not %q", name, content[info+name], want)
		}
	}
	if m := content[info+"METADATA"]; !strings.HasPrefix(m, "Metadata-Version: 2.1\nName: gaugeblock\nVersion: 1.2.0\n") || !strings.HasSuffix(m, "text/markdown\n\n# Read") {
		t.Errorf("%q", m)
	}
}

// TestWheels: there is a wheel for each platform, and nothing is left behind, also if one cannot be built.
func TestWheels(t *testing.T) {
	tree(t, map[string]string{
		"go.mod": "module gaugeblock\n", "cmd/gaugeblock/main.go": "package main\n\nfunc main() {}\n", "LICENSE": "free", "python/gaugeblock/__init__.py": "",
	})
	defer func(all []platform) { platforms = all }(platforms)
	platforms = []platform{{runtime.GOOS, runtime.GOARCH, "one", false}, {runtime.GOOS, runtime.GOARCH, "two", false}}
	t.Setenv("TMPDIR", t.TempDir())
	steps := []struct {
		says   string
		status int
		want   []string
	}{
		{"python/gaugeblock has no README.md", 1, nil},
		{"open LICENSE: no such file or directory", 1, nil},
		{"lstat python/gaugeblock: no such file or directory", 1, nil},
		{"", 0, []string{"gaugeblock-1.2.0-py3-none-one.whl", "gaugeblock-1.2.0-py3-none-two.whl"}},
	}
	for i, step := range steps {
		var said bytes.Buffer
		status := run([]string{"wheels", "to", "1.2.0"}, &said)
		var names []string
		files, err := os.ReadDir("to")
		for _, f := range files {
			names = append(names, f.Name())
			if info, err := f.Info(); err != nil || info.Mode().Perm()&0o111 != 0 || info.Mode().Perm()&0o444 != 0o444 {
				t.Error(f.Name(), info.Mode(), err)
			}
		}
		if err != nil || status != step.status || strings.TrimSpace(said.String()) != step.says || !slices.Equal(names, step.want) {
			t.Errorf("%v: status %d, %q, %v", names, status, &said, err)
		}
		if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
			t.Error(left, err)
		}
		var failed error
		switch i {
		case 0:
			failed = errors.Join(os.WriteFile("python/gaugeblock/README.md", []byte("# Read"), 0o644), os.Rename("LICENSE", "license"))
		case 1:
			failed = errors.Join(os.Rename("license", "LICENSE"), os.Rename("python/gaugeblock", "other"))
		case 2:
			failed = os.Rename("other", "python/gaugeblock")
		}
		if failed != nil {
			t.Fatal(failed)
		}
	}
	t.Setenv("CC", "false")
	for _, c := range []struct {
		fake       bool
		text, says string
	}{{true, "", "false"}, {false, "\x7fELF", "gaugeblock/broken.so: "}, {false, "", ""}} {
		platforms = []platform{{runtime.GOOS, runtime.GOARCH, "", c.fake}}
		if err := os.WriteFile("python/gaugeblock/broken.so", []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		if status := run([]string{"wheels", "tagged", "1.2.0"}, &said); (status == 0) != (c.says == "") || !strings.Contains(said.String(), c.says) {
			t.Errorf("status %d, %q, not %q", status, &said, c.says)
		}
	}
	if files, err := os.ReadDir("tagged"); err != nil || len(files) != 1 || files[0].Name() != "gaugeblock-1.2.0-py3-none-manylinux_2_17_x86_64.whl" {
		t.Error(files, err)
	}
}
