package cuda

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gaugeblock/internal/cache"
)

// keptFor is how long what nobody asks for stays in the cache.
const keptFor = 30 * 24 * time.Hour

// Kept has compilers build files in a folder, by commands, or copies the files there from the user's
// cache (cache.Folder) if the same commands have built them of the same texts before. Commands name the folder by
// its absolute path. If the cache cannot be read or written, they run.
func Kept(dir string, files, texts []string, commands ...*exec.Cmd) error {
	build := func() error {
		for _, c := range commands {
			if err := Run(c); err != nil {
				return err
			}
		}
		return nil
	}
	in, err := cache.Folder()
	if err != nil {
		return build()
	}
	key := sha256.New()
	add := func(texts ...string) { fmt.Fprintf(key, "%q\n", texts) }
	add(files...)
	add(texts...)
	for _, c := range commands {
		add(Identity(c.Path))
		for _, argument := range c.Args {
			add(strings.ReplaceAll(argument, dir, "DIR"))
		}
	}
	folder := filepath.Join(in, "built-"+hex.EncodeToString(key.Sum(nil)[:12]))
	if copyFiles(dir, folder, files) == nil {
		now := time.Now()
		_ = os.Chtimes(folder, now, now)
		return nil
	}
	if err := build(); err != nil {
		return err
	}
	keep(in, folder, dir, files)
	return nil
}

// keep puts files into the cache, where another process may do the same. It takes out what nobody
// has asked for. Without it the files are built again, so that errors are none.
func keep(in, folder, dir string, files []string) {
	if os.MkdirAll(in, 0o755) != nil {
		return
	}
	part, err := os.MkdirTemp(in, "part-")
	if err != nil {
		return
	}
	defer os.RemoveAll(part)
	if copyFiles(part, dir, files) == nil {
		_ = os.RemoveAll(folder) // of which a part has been lost
		_ = os.Rename(part, folder)
	}
	entries, _ := os.ReadDir(in)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && (strings.HasPrefix(e.Name(), "built-") || strings.HasPrefix(e.Name(), "part-")) && time.Since(info.ModTime()) > keptFor {
			_ = os.RemoveAll(filepath.Join(in, e.Name()))
		}
	}
}

// copyFiles copies files of one folder to another, in place of what is there.
func copyFiles(to, from string, files []string) error {
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		// What is there may be in use, or a link: it is not written to.
		if err := os.Remove(filepath.Join(to, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// Identity is what tells a file from another one of that name: where it is, its size, and when it
// was changed.
func Identity(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	if err != nil {
		return path
	}
	return fmt.Sprint(path, info.Size(), info.ModTime().UnixNano())
}
