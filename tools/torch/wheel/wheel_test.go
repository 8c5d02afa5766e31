package wheel

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaugeblock/internal/allrows"
	"gaugeblock/internal/torchversion"
	"gaugeblock/upstream"
)

// An index is a package index for pip, with one wheel of each version.
type index struct {
	versions  []string
	plain     bool // it does not serve parts
	breaksOff bool // after half of an answer
}

// files of the wheel of a version; the last one is not needed.
func files(version string) map[string]string {
	return map[string]string{
		"torch/version.py": "__version__ = '" + version + "'\n", "torch/lib/libc10.so": "c10 of " + version,
		"torch/lib/libc10_cuda.so": "cuda of " + version, "torch/include/c10/core/Device.h": "// a header",
		"torch/lib/libtorch.so": "not needed",
	}
}

func wheelOf(t *testing.T, version string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	content := files(version)
	info := "torch-" + version + ".dist-info/"
	content[info+"METADATA"] = "Metadata-Version: 2.1\nName: torch\nVersion: " + version + "\n"
	content[info+"WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: cp312-cp312-manylinux_2_28_x86_64\n"
	content[info+"RECORD"] = ""
	for _, name := range slices.Sorted(maps.Keys(content)) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(content[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// serve starts the index and makes it pip's; it counts the answers that are parts of a wheel.
func (x *index) serve(t *testing.T) (parts *int) {
	t.Helper()
	if exec.Command("python3", "-m", "pip", "--version").Run() != nil {
		t.Skip("there is no python3 with pip")
	}
	parts = new(int)
	wheels := map[string][]byte{}
	for _, v := range x.versions {
		wheels["/torch-"+v+"-cp312-cp312-manylinux_2_28_x86_64.whl"] = wheelOf(t, v)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wheel, is := wheels[r.URL.Path]
		switch {
		case r.URL.Path == "/simple/torch/":
			for name := range wheels {
				fmt.Fprintf(w, "<a href=%q>%s</a>\n", name, name[1:])
			}
		case !is:
			http.NotFound(w, r)
		case x.breaksOff:
			w.Header().Set("Content-Length", fmt.Sprint(len(wheel)))
			_, _ = w.Write(wheel[:len(wheel)/2])
		case x.plain:
			_, _ = w.Write(wheel)
		default:
			if r.Header.Get("Range") != "" {
				*parts++
			}
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(wheel))
		}
	}))
	t.Cleanup(server.Close)
	pipFrom(t, server.URL+"/simple")
	return parts
}

// pipFrom makes an address pip's only index, and the cache an empty one.
func pipFrom(t *testing.T, url string) {
	for name, value := range map[string]string{
		"PIP_INDEX_URL": url, "PIP_CONFIG_FILE": os.DevNull, "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": "", "PIP_NO_INDEX": "",
		"PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1", "GAUGEBLOCK_CACHE": t.TempDir(), "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1",
	} {
		t.Setenv(name, value)
	}
}

// list makes releases listed, with the hashes that their files have.
func list(t *testing.T, versions ...string) {
	t.Helper()
	was := listed
	t.Cleanup(func() { listed = was })
	listed = ""
	for _, v := range versions {
		dir := t.TempDir()
		wheel := wheelOf(t, v)
		if err := unpack(bytes.NewReader(wheel), int64(len(wheel)), dir); err != nil {
			t.Fatal(err)
		}
		line, err := lineFor(v, dir)
		if err != nil {
			t.Fatal(err)
		}
		listed += line + "\n"
	}
}

// left lists what is in the cache.
func left(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(os.Getenv("GAUGEBLOCK_CACHE"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestGet(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain=%t", plain), func(t *testing.T) {
			x := index{versions: []string{"2.14.0", "2.14.1", "2.15.0"}, plain: plain}
			parts := x.serve(t)
			list(t, "2.14.0", "2.14.1")
			got, err := Get(context.Background(), "2.14")
			if err != nil || got.Version != "2.14.1" || got.Was || got.Line != "" || (*parts > 0) == plain {
				t.Errorf("2.14: %+v, %v, %d parts", got, err, *parts)
			}
			for name, text := range files("2.14.1") {
				content, err := os.ReadFile(filepath.Join(got.Dir, "..", name))
				if needed(name) != (err == nil) || needed(name) && string(content) != text {
					t.Errorf("%s: %q, %v", name, content, err)
				}
			}
			if got, err = Get(context.Background(), "2.14.1"); err != nil || !got.Was {
				t.Errorf("once more: %+v, %v", got, err)
			}
			got, err = Get(context.Background(), Newest)
			if err != nil || got.Version != "2.15.0" || !strings.HasPrefix(got.Line, "2.15.0 ") {
				t.Errorf("newest, which is not listed: %+v, %v", got, err)
			}
			if again, err := Get(context.Background(), Newest); err != nil || again != (Got{Version: "2.15.0", Dir: got.Dir, Was: true}) {
				t.Errorf("newest, once more: %+v, %v", again, err)
			}
			if now := left(t); now != "torch-2.14.1 torch-2.15.0" {
				t.Errorf("the cache has %s", now)
			}
			if dir, err := Find(Newest); err != nil || dir != got.Dir {
				t.Errorf("the newest that is here is %s, %v", dir, err)
			}
		})
	}
}

// TestGetFails: the error says why, and nothing is left.
func TestGetFails(t *testing.T) {
	ended, end := context.WithCancel(context.Background())
	end()
	for i, test := range []struct {
		name, version, says string
		index               index
		ctx                 context.Context
		before              func(t *testing.T)
	}{
		{name: "other hashes", version: "2.14.1", says: "not the release that is listed", before: func(*testing.T) { listed = strings.ReplaceAll(listed, "a", "b") }},
		{name: "breaks off", version: "2.14.1", says: "pip: ", index: index{breaksOff: true}},
		{name: "unknown version", version: "2.99.0", says: "has no PyTorch 2.99.0; it has 2.14.0, 2.14.1"},
		{name: "no version", version: "1.13", says: "1.13 is no version of PyTorch"},
		{name: "no network", version: "2.14.1", says: "pip reaches no package index", before: func(t *testing.T) { t.Setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple") }},
		{name: "no python", version: "2.14.1", says: "there is no python3", before: func(t *testing.T) { t.Setenv("PATH", t.TempDir()) }},
		{name: "no pip", version: "2.14.1", says: "has no pip", before: func(t *testing.T) {
			dir := t.TempDir()
			script := "#!/bin/sh\necho 'python3: No module named pip' >&2; exit 1\n"
			if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir)
		}},
		{name: "interrupted", version: "2.14.1", says: "canceled", ctx: ended},
	} {
		if allrows.Without(i, 2) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			x := test.index
			x.versions = []string{"2.14.0", "2.14.1"}
			x.serve(t)
			list(t, "2.14.0", "2.14.1")
			if test.before != nil {
				test.before(t)
			}
			ctx := test.ctx
			if ctx == nil {
				ctx = context.Background()
			}
			_, err := Get(ctx, test.version)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v", err)
			}
			if now := left(t); now != "" {
				t.Errorf("the cache has %s", now)
			}
		})
	}
}

func TestFind(t *testing.T) {
	pipFrom(t, "")
	var missing *MissingError
	for _, version := range []string{"2.15.0", "2.15", Newest} {
		if _, err := Find(version); !errors.As(err, &missing) || !strings.Contains(err.Error(), "gaugeblock torch get") {
			t.Errorf("%s: %v", version, err)
		}
	}
	if _, err := Find("3"); err == nil || errors.As(err, &missing) {
		t.Errorf("3: %v", err)
	}
}

// TestListed: every line is whole, and the releases are in order.
func TestListed(t *testing.T) {
	versions := Listed()
	if len(versions) != strings.Count(listed, "\n") {
		t.Errorf("%d versions in %d lines", len(versions), strings.Count(listed, "\n"))
	}
	for i, v := range versions {
		if len(lineOf(v)) != len(v)+3*65 {
			t.Errorf("the line of %s is %s", v, lineOf(v))
		}
		if i > 0 && torchversion.Compare(versions[i-1], v) >= 0 {
			t.Errorf("%s is behind %s", v, versions[i-1])
		}
	}
}

// TestLibrariesTellTheirRelease: a library that was fetched is taken for its own release.
func TestLibrariesTellTheirRelease(t *testing.T) {
	for _, version := range Have() {
		dir, err := Find(version)
		if err != nil {
			t.Fatal(err)
		}
		library, err := os.Open(filepath.Join(dir, "lib", "libc10_cuda.so"))
		if err != nil {
			t.Fatal(err)
		}
		want := version[:strings.LastIndex(version, ".")]
		if r, err := upstream.OfLibrary(library); err != nil || r.Name != want {
			t.Errorf("%s: %s, %v", version, r.Name, err)
		}
		library.Close()
	}
}
