// Package unpack reads what is inside of a compressed file, an archive of one file, or a page of
// PyTorch's memory_viz.
package unpack

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/therootcompany/xz"
)

// bufferBytes is the size of the buffer of an input.
const bufferBytes = 64 << 10

// mostLayers is how many layers are taken off: a .pickle.gz in a .zip has two.
const mostLayers = 3

// ErrCutOff is an input whose layers have no end.
var ErrCutOff = errors.New("the file ends too early: it was cut off")

// Open takes off the layers of an input. An archive is kept in memory, and may have at most most
// bytes.
func Open(in io.Reader, most uint64) (*bufio.Reader, error) {
	buffered := buffer(in)
	for range mostLayers {
		head, _ := buffered.Peek(pageHead)
		layer := layerOf(head)
		if layer == nil {
			break
		}
		inner, err := layer(buffered, most)
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, ErrCutOff
		}
		if err != nil {
			return nil, err
		}
		buffered = buffer(inner)
	}
	return buffered, nil
}

func buffer(in io.Reader) *bufio.Reader { return bufio.NewReaderSize(in, bufferBytes) }

// layerOf is what takes off the layer that an input begins with, nil if it has none.
func layerOf(head []byte) func(in *bufio.Reader, most uint64) (io.Reader, error) {
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return func(in *bufio.Reader, _ uint64) (io.Reader, error) { return gzip.NewReader(in) }
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")): // with a bound of what it takes to unpack it
		return func(in *bufio.Reader, _ uint64) (io.Reader, error) { return xz.NewReader(in, xz.DefaultDictMax) }
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return inZip
	case isPage(head):
		return inPage
	}
	return nil
}

// inZip is the one snapshot, or else the one file, of an archive. torch.save writes archives as
// well, whose data is a pickle.
func inZip(in *bufio.Reader, most uint64) (io.Reader, error) {
	packed, err := io.ReadAll(io.LimitReader(in, int64(min(most, 1<<62))+1))
	if err != nil {
		return nil, err
	}
	if uint64(len(packed)) > most {
		return nil, fmt.Errorf("the zip archive has more than %d bytes; --max-memory sets another limit", most)
	}
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return nil, damagedZip(err)
	}
	var files, snapshots []*zip.File
	for _, file := range archive.File {
		name := file.Name[strings.LastIndexByte(file.Name, '/')+1:]
		if !file.Mode().IsRegular() || name == "" || strings.HasPrefix(name, ".") || strings.HasPrefix(file.Name, "__MACOSX/") {
			continue
		}
		files = append(files, file)
		if IsSnapshotName(name) {
			snapshots = append(snapshots, file)
		}
	}
	if len(snapshots) > 0 {
		files = snapshots
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("the zip archive has %d files that may be meant: unpack it, and give the file, or to gaugeblock report the folder", len(files))
	}
	inside, err := files[0].Open()
	if err != nil {
		return nil, damagedZip(err)
	}
	return inside, nil
}

func damagedZip(err error) error { return fmt.Errorf("the zip archive is damaged: %w", err) }

// Names are how the names of snapshots end. Each may be followed by .gz or .xz.
const Names = ".pickle, .pkl, .json"

// IsSnapshotName reports whether a file with such a name is taken for a snapshot.
func IsSnapshotName(name string) bool { return BaseName(name) != withoutPacking(name) }

// BaseName is the name of a snapshot without what tells its format.
func BaseName(name string) string {
	name = withoutPacking(name)
	for _, end := range strings.Split(Names, ", ") {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

func withoutPacking(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".xz")
}

// pageHead is how much of a page is looked at, in bytes.
const pageHead = 64

// isPage reports whether an input is a page.
func isPage(head []byte) bool {
	head = bytes.ToLower(bytes.TrimLeft(head, " \t\r\n\ufeff"))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}

// inPage is the snapshot that a page of memory_viz has as a string, the first one.
func inPage(in *bufio.Reader, _ uint64) (io.Reader, error) {
	const key = `"base64":`
	matched := 0
	at := int64(0)
	for ; matched < len(key); at++ {
		b, err := in.ReadByte()
		switch {
		case err == io.EOF:
			return nil, errors.New("this is a page without the snapshot that a page of memory_viz has")
		case err != nil:
			return nil, err
		case b == key[matched]:
			matched++
		default: // the key begins with a quote, and has another one only at its end
			matched = 0
			if b == key[0] {
				matched = 1
			}
		}
	}
	before, err := in.ReadString('"')
	if err != nil {
		return nil, errors.New("the snapshot in the page is cut off")
	}
	return &decoded{in: untilQuote{in: in}, at: at + int64(len(before))}, nil
}

// decoded is what a string in base64 stands for. It is decoded piece by piece, so that an error has its place.
type decoded struct {
	in    untilQuote
	at    int64 // of the next piece in the page
	text  [4096]byte
	plain [3072]byte // what is in the text
	rest  []byte     // of it, not read yet
	err   error      // behind the rest
}

func (d *decoded) Read(to []byte) (int, error) {
	for len(d.rest) == 0 && d.err == nil {
		d.decode()
	}
	if len(d.rest) == 0 {
		return 0, d.err
	}
	n := copy(to, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// decode decodes the next piece.
func (d *decoded) decode() {
	n, err := io.ReadFull(&d.in, d.text[:])
	switch {
	case err != nil && d.in.done:
		d.err = io.EOF
	case err != nil:
		d.err, n = err, n/4*4
	}
	length, err := base64.StdEncoding.Decode(d.plain[:], d.text[:n])
	d.rest = d.plain[:length]
	var corrupt base64.CorruptInputError
	if errors.As(err, &corrupt) {
		d.err = fmt.Errorf("the snapshot in the page is damaged: no base64 at byte %d of the page", d.at+int64(corrupt))
	}
	d.at += int64(n)
}

// untilQuote reads a string up to its end.
type untilQuote struct {
	in   *bufio.Reader
	done bool
}

func (u *untilQuote) Read(to []byte) (int, error) {
	if u.done {
		return 0, io.EOF
	}
	n, err := u.in.Read(to)
	if at := bytes.IndexByte(to[:n], '"'); at >= 0 {
		u.done = true
		return at, io.EOF
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
