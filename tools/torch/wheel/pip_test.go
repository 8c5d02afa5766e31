package wheel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
		})
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
