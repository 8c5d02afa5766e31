package snapshot

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/therootcompany/xz"

	"gaugeblock/internal/unpack"
)

// maxBytes bounds what is read of a file, uncompressed. A snapshot of a million
// entries has about 50 MiB; a small compressed file can claim to hold anything.
// It also keeps every count below 1<<31.
const maxBytes = 1<<31 - 1

// Open reads a snapshot file; "-" is standard input. An error in the contents is a
// *FormatError. That more than DefaultMemory is needed is one.
func Open(path string) (*File, error) { return OpenLimited(path, DefaultMemory) }

// OpenLimited is Open with another limit of the memory, in bytes; see ReadLimited.
func OpenLimited(path string, maxMemory uint64) (*File, error) {
	if path == "-" {
		return ReadLimited(os.Stdin, "stdin", maxMemory)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadLimited(file, path, maxMemory)
}

// Read reads a snapshot: a pickle or JSON, compressed or not, in an archive or in a page of
// memory_viz. name is the file name in
// errors. All errors are *FormatError.
func Read(r io.Reader, name string) (*File, error) { return ReadLimited(r, name, DefaultMemory) }

// ReadLimited is Read with another limit of the memory that the process takes for it, in
// bytes. The limit is kept roughly (budget.go).
func ReadLimited(r io.Reader, name string, maxMemory uint64) (*File, error) {
	f, err := read(r, newBudget(maxMemory))
	if err == nil {
		return f, nil
	}
	failure := &FormatError{File: name, Reason: describe(err), Err: err}
	var at *positionError
	if errors.As(err, &at) {
		failure.Offset = at.offset
	}
	return nil, failure
}

// ErrTrace is in the FormatError of a file that is a trace of this project.
var ErrTrace = failAt(0, "this is a trace, not a memory snapshot")

func read(r io.Reader, memory *budget) (*File, error) {
	in, err := unpack.Open(r, memory.limit)
	if err != nil {
		return nil, err
	}
	src := &source{in: in, memory: memory}
	values := newPlain(memory)
	root, err := parse(src, values)
	if err != nil {
		return nil, err
	}
	if err := src.end(); err != nil {
		return nil, err
	}
	return convert(values, root)
}

// parse reads the one value that the input holds.
func parse(src *source, values *plain) (value, error) {
	head, err := src.in.Peek(64)
	switch {
	case len(head) == 0 && err == io.EOF:
		return value{}, failAt(0, "the file is empty")
	case len(head) == 0:
		return value{}, err
	case head[0] == opProto:
		return parsePickle(src, values)
	case head[0] == '{' && bytes.Contains(head, []byte(`"allocator-trace"`)):
		return value{}, ErrTrace
	case bytes.ContainsAny(head[:1], "{[ \t\r\n"):
		return parseJSON(src, values)
	}
	return value{}, failAt(0, "this is no memory snapshot: neither a pickle of protocol 2 to 5 nor JSON. %s%s", howToGetOne, textHint)
}

// howToGetOne is for who gives something else.
const howToGetOne = "A memory snapshot is what torch.cuda.memory._dump_snapshot(FILE) writes, after torch.cuda.memory._record_memory_history()"

// textHint is for who gives an error message as if it were a snapshot.
const textHint = "; gaugeblock whatif also takes the text of an error"

// positionError is an error at an offset of the uncompressed file.
type positionError struct {
	offset int64
	reason string
}

func (e *positionError) Error() string { return e.reason }

func failAt(offset int64, format string, args ...any) error {
	return &positionError{offset, fmt.Sprintf(format, args...)}
}

// describe is the message of an error of the input.
func describe(err error) string {
	var corrupt flate.CorruptInputError
	var unread *fs.PathError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the file ends too early: it was cut off"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt), errors.Is(err, xz.ErrData),
		errors.Is(err, xz.ErrBuf), errors.Is(err, zip.ErrChecksum):
		return "the compressed data is damaged: " + err.Error()
	case errors.As(err, &unread):
		return unread.Err.Error() // Error would name the file again
	}
	return err.Error()
}

// source is the uncompressed file, with the offset. All methods return a positionError
// where the file ends or is too large.
type source struct {
	in     *bufio.Reader
	offset int64
	memory *budget
}

// wrap adds the offset to an error of the input.
func (s *source) wrap(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &positionError{s.offset, describe(err)}
}

func (s *source) byte() (byte, error) {
	b, err := s.in.ReadByte()
	if err != nil {
		return 0, s.wrap(err)
	}
	s.offset++
	if s.offset > maxBytes {
		return 0, failAt(s.offset, "the file is larger than %d bytes", int64(maxBytes))
	}
	return b, nil
}

// littleEndian reads an unsigned number of at most 8 bytes.
func (s *source) littleEndian(bytes int) (uint64, error) {
	p, err := s.in.Peek(bytes)
	if err != nil {
		return 0, s.wrap(err)
	}
	n := uint64(0)
	for i := len(p) - 1; i >= 0; i-- {
		n = n<<8 | uint64(p[i])
	}
	s.in.Discard(bytes) // what was peeked is there
	s.offset += int64(bytes)
	if s.offset > maxBytes {
		return 0, failAt(s.offset, "the file is larger than %d bytes", int64(maxBytes))
	}
	return n, nil
}

// skip skips bytes.
func (s *source) skip(bytes uint64) error {
	for bytes > 0 {
		n, err := s.in.Discard(int(min(bytes, 1<<20)))
		s.offset += int64(n)
		bytes -= uint64(n)
		if err != nil {
			return s.wrap(err)
		}
		if s.offset > maxBytes {
			return failAt(s.offset, "the file is larger than %d bytes", int64(maxBytes))
		}
	}
	return nil
}

// bytes reads n bytes. It takes no more memory than there are bytes in the file. A
// result of at most 4096 bytes is valid until the next call.
func (s *source) bytes(count uint64) ([]byte, error) {
	if count <= 4096 {
		p, err := s.in.Peek(int(count))
		if err != nil {
			return nil, s.wrap(err)
		}
		return p, s.skip(count)
	}
	var read []byte
	defer func() { s.memory.give(uint64(len(read))) }() // it is soon garbage
	for count > 0 {
		p, err := s.in.Peek(int(min(count, 4096)))
		if err != nil {
			return nil, s.wrap(err)
		}
		if err := s.memory.take(uint64(len(p)), s.offset); err != nil {
			return nil, err
		}
		read = append(read, p...)
		count -= uint64(len(p))
		if err := s.skip(uint64(len(p))); err != nil {
			return nil, err
		}
	}
	return read, nil
}

// end checks that only white space is left, or the zeros that memory_viz adds. In a compressed
// file that also checks the checksum at its end.
func (s *source) end() error {
	for {
		b, err := s.in.ReadByte()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return s.wrap(err)
		case !bytes.ContainsRune([]byte(" \t\r\n\x00"), rune(b)):
			return failAt(s.offset, "the file continues after the end of the snapshot")
		}
		s.offset++
	}
}
