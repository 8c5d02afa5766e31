package replay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gaugeblock/internal/quote"
)

// Stdin is the argument that stands for standard input.
const Stdin = "-"

// InputError is an argument that leads to no trace.
type InputError struct {
	Arg    string
	Reason string
}

func (e *InputError) Error() string { return quote.Text(e.Arg) + ": " + e.Reason }

// FindTraces turns arguments into the files they mean, in order: a file means
// itself, a directory every trace (*.jsonl, *.jsonl.gz) in and below it, sorted
// by path, a glob pattern what it matches, and "-" standard input. What is no regular
// file, such as a FIFO, is read only if it is named, since it may wait for ever. An
// argument that means nothing is an InputError.
func FindTraces(args []string) ([]string, error) { return find(args, traceFiles) }

// FindLogs does so for logs of allocators, which are traces or tables (*.csv, *.csv.gz).
func FindLogs(args []string) ([]string, error) { return find(args, logFiles) }

// fileKind is what to look for in directories.
type fileKind struct {
	name     string
	suffixes []string
}

var (
	traceFiles = fileKind{"trace", []string{".jsonl", ".jsonl.gz"}}
	logFiles   = fileKind{"log", []string{".jsonl", ".jsonl.gz", ".csv", ".csv.gz"}}
)

// has reports whether a file has one of the suffixes.
func (k fileKind) has(file string) bool {
	return slices.ContainsFunc(k.suffixes, func(suffix string) bool { return strings.HasSuffix(file, suffix) })
}

func find(args []string, kind fileKind) ([]string, error) {
	var files []string
	stdins := 0
	for _, arg := range args {
		if arg == Stdin {
			if stdins++; stdins > 1 {
				return nil, &InputError{arg, "standard input can be read only once"}
			}
			files = append(files, Stdin)
			continue
		}
		found, err := expand(arg, kind)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// expand is find for one argument. A file whose name looks like a pattern
// is taken at its word.
func expand(arg string, kind fileKind) ([]string, error) {
	if _, err := os.Stat(arg); err == nil {
		return below(arg, kind)
	} else if !strings.ContainsAny(arg, `*?[`) {
		return nil, &InputError{arg, reason(err)}
	}
	matches, err := filepath.Glob(arg)
	if err != nil {
		return nil, &InputError{arg, err.Error()}
	}
	if len(matches) == 0 {
		return nil, &InputError{arg, "no file matches this pattern"}
	}
	var files []string
	for _, match := range matches {
		if info, err := os.Stat(match); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		found, err := below(match, kind)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, &InputError{arg, "no regular file matches this pattern"}
	}
	return files, nil
}

// below lists the files of a directory; a file is its own list.
func below(path string, kind fileKind) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &InputError{path, reason(err)}
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return &InputError{file, reason(err)}
		}
		if kind.has(file) && isRegular(file) {
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, &InputError{path, fmt.Sprintf("no %s (*%s) in or below this directory", kind.name, strings.Join(kind.suffixes, ", *"))}
	}
	slices.Sort(files)
	return files, nil
}

// isRegular reports whether a path is a regular file, or a link to one.
func isRegular(file string) bool {
	info, err := os.Stat(file)
	return err != nil || info.Mode().IsRegular() // an error is reported when the file is opened
}

// reason is what went wrong with a file, without the name of the call.
func reason(err error) string {
	if of, is := errors.AsType[*fs.PathError](err); is {
		err = of.Err
	}
	return err.Error()
}
