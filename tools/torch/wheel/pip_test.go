package wheel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaugeblock/internal/quote"
	"gaugeblock/internal/torchversion"
)

// pipThat makes a shell script python3, which answers pip's two commands: where the wheel of 2.14.1 is, and
// to fetch it.
func pipThat(t *testing.T, locates, fetches string) {
	t.Helper()
	pipFrom(t, "")
	list(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "wheel"), wheelOf(t, "2.14.1"), 0o644); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nwheel=" + filepath.Join(dir, "wheel") + "\ncase \"$*\" in\n" +
		"*' install '*) " + locates + ";;\n" +
		"*) while [ \"$1\" != --dest ]; do shift; done; to=\"$2\"; " + fetches + ";;\nesac\n"
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

const (
	locatesIt = `echo '{"install": [{"download_info": {"url": "http://127.0.0.1:9/torch.whl"}, "metadata": {"version": "2.14.1+cu130"}}]}'`
	fetchesIt = `cp "$wheel" "$to/torch-2.14.1.whl"`
)

// TestPip: what pip may answer.
func TestPip(t *testing.T) {
	for _, test := range []struct{ name, locates, fetches, says string }{
		{"all is well", locatesIt, fetchesIt, ""},
		{"no report", `echo no`, fetchesIt, "pip's report on torch makes no sense"},
		{"an empty report", `echo '{}'`, fetchesIt, "pip's report on torch makes no sense"},
		{"another version", strings.Replace(locatesIt, "2.14.1", "2.14.2", 1), fetchesIt,
			"the package index has PyTorch 2.14.2 where 2.14.1 was asked for"},
		{"the download fails", locatesIt, `echo first >&2; echo no room >&2; exit 1`, "pip: exit status 1: no room"},
		{"nothing is fetched", locatesIt, `:`, "pip has fetched no wheel of torch"},
		{"two wheels", locatesIt, fetchesIt + `; cp "$wheel" "$to/torch-2.whl"`, "pip has fetched no wheel of torch"},
		{"a wheel that cannot be read", locatesIt, `ln -s none "$to/torch-2.14.1.whl"`, "open "},
		{"no zip file", locatesIt, `echo no > "$to/torch-2.14.1.whl"`, "the wheel: zip: not a valid zip file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pipThat(t, test.locates, test.fetches)
			got, err := Get(context.Background(), "2.14.1")
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("the error is %v", err)
				}
				if now := left(t); now != "" {
					t.Errorf("the cache has %s", now)
				}
				return
			}
			if err != nil || got.Was || got.Version != "2.14.1" {
				t.Fatalf("%+v, %v", got, err)
			}
			if info, err := os.Stat(filepath.Dir(got.Dir)); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("other users may not read the release: %v, %v", info.Mode(), err)
			}
			if info, err := os.Stat(filepath.Join(got.Dir, "version.py")); err != nil || info.Mode().Perm()&0o111 != 0 {
				t.Errorf("a file can be run: %v, %v", info.Mode(), err)
			}
		})
	}
}

// TestNoPlace: where a release cannot be kept, nothing of it is.
func TestNoPlace(t *testing.T) {
	pipThat(t, locatesIt, fetchesIt+`; ln -s none "$GAUGEBLOCK_CACHE/torch-2.14.1"`)
	if got, err := Get(context.Background(), "2.14.1"); got != (Got{}) || err == nil || !strings.HasPrefix(err.Error(), "rename ") || left(t) != "torch-2.14.1" {
		t.Errorf("something else is there: %+v, %v, %s", got, err, left(t))
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GAUGEBLOCK_CACHE", file)
	if got, err := Get(context.Background(), "2.14.1"); got != (Got{}) || fmt.Sprint(err) != "mkdir "+file+": not a directory" {
		t.Errorf("the cache is a file: %+v, %v", got, err)
	}
	t.Setenv("TMPDIR", filepath.Join(file, "none"))
	if got, err := Get(context.Background(), "2.14.1"); got != (Got{}) || err == nil || !strings.HasPrefix(err.Error(), "mkdir "+filepath.Join(file, "none", "gaugeblock-pip-")) {
		t.Errorf("no folder for what pip leaves: %+v, %v", got, err)
	}
}

// TestNoCache: without a folder for a cache nothing is there, nothing is fetched, and the error says so.
func TestNoCache(t *testing.T) {
	pipThat(t, locatesIt, fetchesIt)
	for _, name := range []string{"GAUGEBLOCK_CACHE", "XDG_CACHE_HOME", "HOME"} {
		t.Setenv(name, "")
	}
	const says = "there is no folder for a cache (set GAUGEBLOCK_CACHE): "
	for _, version := range []string{"2.14.1", Newest} {
		if dir, err := Find(version); dir != "" || err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("find %s: %q, %v", version, dir, err)
		}
	}
	if got, err := Get(context.Background(), "2.14.1"); got != (Got{}) || err == nil || !strings.HasPrefix(err.Error(), says) {
		t.Errorf("get: %+v, %v", got, err)
	}
	if have := Have(); have != nil {
		t.Errorf("it has %q", have)
	}
}

// TestLineOfNothing: what a wheel lacks is said in the order of the libraries.
func TestLineOfNothing(t *testing.T) {
	dir := t.TempDir()
	const both = "the wheel has no torch/lib/libc10.so\nthe wheel has no torch/lib/libc10_cuda.so"
	if _, err := lineFor("2.14.1", dir); fmt.Sprint(err) != both {
		t.Errorf("%v", err)
	}
	if _, err := lineFor("2.14.1", filepath.Join(dir, "none")); err == nil || !strings.HasSuffix(err.Error(), both) {
		t.Errorf("no folder: %v", err)
	}
}

// TestResolve: a release is that of the newest patch that is listed, or else the first one.
func TestResolve(t *testing.T) {
	list(t, "2.14.0", "2.14.1", "2.15.0")
	for text, want := range map[string]string{"2.14": "2.14.1", "2.15": "2.15.0", "2.99": "2.99.0", "2.14.7": "2.14.7", Newest: Newest, "2.1": "2.1.0"} {
		if got, err := Resolve(text); got != want || err != nil {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "2", "2.x", "2.15.0.0", "newer", "2.1234"} {
		if got, err := Resolve(text); got != "" || err == nil || err.Error() != quote.Text(text)+" is no version of PyTorch, such as 2.15.0 or 2.15" {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

// TestCompare: versions are in the order of their numbers.
func TestCompare(t *testing.T) {
	inOrder := []string{"2.8.0", "2.8.1", "2.9.0", "2.10.0", "2.10.9", "2.10.10", "2.11.0"}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if got := torchversion.Compare(a, b); got != cmp.Compare(i, j) {
				t.Errorf("%s and %s: %d", a, b, got)
			}
		}
	}
}

// TestAnotherIsFaster: what another process has put into the cache in the meantime is taken.
func TestAnotherIsFaster(t *testing.T) {
	pipThat(t, locatesIt, fetchesIt+`; mkdir -p "$GAUGEBLOCK_CACHE/torch-2.14.1/torch"`)
	got, err := Get(context.Background(), "2.14.1")
	if err != nil || !got.Was || got.Dir != filepath.Join(os.Getenv("GAUGEBLOCK_CACHE"), "torch-2.14.1", "torch") {
		t.Errorf("%+v, %v", got, err)
	}
	if now := left(t); now != "torch-2.14.1" {
		t.Errorf("the cache has %s", now)
	}
}

// TestInterruptedPip: the end of the context ends what pip has started, too.
func TestInterruptedPip(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	pipThat(t, fmt.Sprintf("sleep 600 & echo > %s; wait", started), "")
	ctx, end := context.WithCancel(context.Background())
	defer end()
	ended := make(chan error, 1)
	go func() {
		_, err := Get(ctx, "2.14.1")
		ended <- err
	}()
	for _, err := os.Stat(started); err != nil; _, err = os.Stat(started) {
		time.Sleep(time.Millisecond)
	}
	end()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	case <-time.After(2 * time.Minute): // "sleep" still has the pipe of pip's output
		t.Error("what pip has started goes on")
	}
}

// TestIsVersion: what is no version is a folder.
func TestIsVersion(t *testing.T) {
	for text, want := range map[string]bool{
		Newest: true, "2.15": true, "2.15.0": true, "2.15.0.1": false, "2": false, "3.0": false, "torch": false, "./2.15": false, "": false,
	} {
		if IsVersion(text) != want {
			t.Errorf("%q is a version: %t", text, !want)
		}
	}
}
