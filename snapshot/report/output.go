package report

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"gaugeblock/internal/quote"
)

// An Output is a file that a page is to be written to.
type Output struct {
	path    string      // as it was given
	target  string      // behind symbolic links
	there   fs.FileInfo // what is at the target; nil: nothing
	special bool        // no regular file, such as /dev/null or a pipe: written to, not replaced

	mu        sync.Mutex
	temporary string // the file beside the target, while it is written
	abandoned bool
}

// maxLinks is how many symbolic links are followed, as on Linux.
const maxLinks = 40

// OpenOutput looks what is at a path, and changes nothing. It is an error if the page would
// overwrite one of the inputs, what is there may not be written, or there is no such folder. A symbolic link stays,
// and what it points to is written, or made.
func OpenOutput(path string, inputs ...fs.FileInfo) (*Output, error) {
	o := &Output{path: path, target: path}
	there, err := os.Stat(path)
	switch {
	case err == nil && there.IsDir():
		return nil, fmt.Errorf("%s cannot be written: is a directory", quote.Text(path))
	case err == nil && !there.Mode().IsRegular():
		o.there, o.special = there, true
		return o, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, notWritten(path, err)
	}
	o.followLinks()
	if err != nil { // there is nothing
		if _, err := os.Stat(filepath.Dir(o.target)); err != nil {
			return nil, notWritten(path, err)
		}
		return o, nil
	}
	for _, input := range inputs {
		if os.SameFile(there, input) {
			return nil, fmt.Errorf("%s is the input, and is not overwritten: name another file with -o", quote.Text(path))
		}
	}
	o.there = there
	file, err := os.OpenFile(o.target, os.O_WRONLY, 0) // a file that is protected is not replaced
	if err != nil {
		return nil, notWritten(path, err)
	}
	return o, file.Close()
}

// followLinks finds what a symbolic link points to, also if it is not there yet.
func (o *Output) followLinks() {
	for range maxLinks {
		to, err := os.Readlink(o.target)
		if err != nil {
			return // no link
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(o.target), to)
		}
		o.target = to
	}
}

// Exists reports whether there is a file that Write would replace.
func (o *Output) Exists() bool { return o.there != nil && !o.special }

// IsReport reports whether that file is a page of this package.
func (o *Output) IsReport() bool {
	file, err := os.Open(o.target)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 1024)
	n, _ := io.ReadFull(file, head)
	return bytes.Contains(head[:n], []byte(generator))
}

// Write writes the page, whole or not at all. A file that is replaced keeps its mode; a new
// one has that of the umask.
func (o *Output) Write(p *Page) error {
	return o.WriteBy(func(w io.Writer) error { return Write(w, p) })
}

// WriteBy is Write for what a function writes.
func (o *Output) WriteBy(write func(io.Writer) error) error {
	if o.special {
		return o.writeInto(write)
	}
	file, err := o.createTemporary()
	if err != nil {
		return notWritten(o.path, err)
	}
	buffered := bufio.NewWriter(file)
	err = cmp.Or(write(buffered), buffered.Flush())
	if o.there != nil {
		err = cmp.Or(err, file.Chmod(o.there.Mode().Perm()))
	}
	err = cmp.Or(err, file.Close())
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.abandoned {
		err = cmp.Or(err, errAbandoned)
	}
	if err == nil {
		err = os.Rename(file.Name(), o.target)
	}
	o.temporary = ""
	if err != nil {
		os.Remove(file.Name())
		return notWritten(o.path, err)
	}
	return nil
}

var errAbandoned = errors.New("it was abandoned")

// Abandon removes what is written of the page. It may be called at any time, and nothing is
// written afterwards: Write returns an error. What is no regular file is written on.
func (o *Output) Abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.abandoned = true; o.temporary != "" {
		os.Remove(o.temporary)
	}
}

func (o *Output) createTemporary() (*os.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.abandoned {
		return nil, errAbandoned
	}
	file, err := o.createBeside()
	if err == nil {
		o.temporary = file.Name()
	}
	return file, err
}

// createBeside makes a file in the folder of the target. Unlike os.CreateTemp it leaves the
// mode to the umask.
func (o *Output) createBeside() (*os.File, error) {
	folder, name := filepath.Split(o.target)
	for try := 0; ; try++ {
		file, err := os.OpenFile(fmt.Sprintf("%s.%s.%d.%d", folder, name, os.Getpid(), try), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) || try == 1000 {
			return file, err
		}
	}
}

// writeInto writes to what exists.
func (o *Output) writeInto(write func(io.Writer) error) error {
	file, err := os.OpenFile(o.target, os.O_WRONLY, 0)
	if err != nil {
		return notWritten(o.path, err)
	}
	return cmp.Or(write(file), file.Close())
}

// notWritten is an error about the path, not about the temporary file beside it.
func notWritten(path string, err error) error {
	var temporary *fs.PathError
	if errors.As(err, &temporary) {
		err = temporary.Err
	}
	return fmt.Errorf("%s cannot be written: %w", quote.Text(path), err)
}
