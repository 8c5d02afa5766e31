package trace

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// lineReader cuts what it reads, plain or compressed, into lines. It holds one
// line and a buffer, however much there is to read.
type lineReader struct {
	in   *bufio.Reader
	line []byte
}

const inputBuffer = 64 << 10

// gzipMagic is how every gzip file begins, and no text does.
const gzipMagic = "\x1f\x8b"

func newLineReader(r io.Reader) (*lineReader, error) {
	in := bufio.NewReaderSize(r, inputBuffer)
	if magic, _ := in.Peek(len(gzipMagic)); string(magic) == gzipMagic {
		unzip, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(unzip, inputBuffer)
	}
	return &lineReader{in: in}, nil
}

// snapshot reports whether the input is one of PyTorch's memory snapshots.
func (l *lineReader) snapshot() bool {
	const enough = 4096
	beginning, _ := l.in.Peek(enough)
	return IsSnapshot(beginning)
}

// lineError is a line that no JSON can be read from.
type lineError string

func (e lineError) Error() string { return string(e) }

// next returns the next line, good until the next call; io.EOF after the last one.
// The last line need not end in a line feed.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		piece, err := l.in.ReadSlice('\n')
		if len(l.line)+len(piece) > MaxLine {
			return nil, lineError(fmt.Sprintf("the line is longer than %d bytes", MaxLine))
		}
		l.line = append(l.line, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(l.line) == 0):
			return nil, err
		}
		return l.line, checkText(l.line)
	}
}

// checkText refuses what is not text, wherever in a line it stands.
func checkText(line []byte) error {
	if i := bytes.IndexByte(line, 0); i >= 0 {
		return lineError(fmt.Sprintf("not a text file: a NUL byte (column %d)", i+1))
	}
	if !utf8.Valid(line) {
		return lineError("not a text file: bytes that are not UTF-8")
	}
	return nil
}

// describeInput puts an error of the input into words.
func describeInput(err error) string {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the compressed data ends too early: the file was cut off"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return "the compressed data is damaged: " + err.Error()
	}
	return err.Error()
}
