package explore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"os"
	"slices"
)

// The large files of an exploration are written in blocks, so that a file that was changed, that
// was cut, or that is another one is refused, with the offset of the block. A block is blockBytes
// of the content, and its checksum. The last block of a complete file is shorter: it may be empty.
const (
	blockBytes    = 1 << 16 // a multiple of recordBytes
	checksumBytes = 8
)

var checksums = crc64.MakeTable(crc64.ECMA)

// An origin is what a file is: the checksums of its blocks begin with it.
type origin uint64

// originOf is that of a file of an exploration.
func originOf(identity, name string) origin {
	return origin(crc64.Checksum([]byte(identity+"\x00"+name), checksums))
}

// checksum is that of a block. The numbers of blocks begin with 0.
func (o origin) checksum(number int64, content []byte) uint64 {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(number))
	return crc64.Update(crc64.Update(uint64(o), checksums, n[:]), checksums, content)
}

// A position is how far a file was written at a checkpoint.
type position struct {
	Written  int64  `json:"written"`  // bytes of content
	Checksum uint64 `json:"checksum"` // of the last block as far as it was written
}

// offset is where a byte of the content is in the file.
func offset(content int64) int64 { return content + content/blockBytes*checksumBytes }

// A writer is a file that is written at its end.
type writer struct {
	file   *os.File
	origin origin
	blocks int64  // that are complete
	block  []byte // the content of the next one
}

// openWriter opens a file and cuts it to a position.
func openWriter(path string, from origin, at position) (w writer, err error) {
	if w.file, err = openRegular(path, os.O_RDWR|os.O_CREATE); err != nil {
		return w, err
	}
	if err = w.begin(from, at); err != nil {
		err = errors.Join(err, w.close())
	}
	return w, err
}

// begin reads the block that is not complete.
func (w *writer) begin(from origin, at position) error {
	path := w.file.Name()
	info, err := w.file.Stat()
	if err != nil {
		return err
	}
	if at.Written < 0 || info.Size() < offset(at.Written) {
		return &CheckpointError{path, fmt.Sprintf("has %d bytes, and had %d at the checkpoint", info.Size(), offset(at.Written))}
	}
	w.origin, w.blocks = from, at.Written/blockBytes
	w.block = make([]byte, at.Written%blockBytes, blockBytes+checksumBytes)
	begins := offset(w.blocks * blockBytes)
	if _, err := w.file.ReadAt(w.block, begins); err != nil {
		return err
	}
	if len(w.block) > 0 && w.checksum() != at.Checksum {
		return changed(path, begins)
	}
	return w.file.Truncate(offset(at.Written))
}

func (w *writer) checksum() uint64 { return w.origin.checksum(w.blocks, w.block) }

// position is how far the file is written, if it is synced.
func (w *writer) position() position {
	return position{w.blocks*blockBytes + int64(len(w.block)), w.checksum()}
}

func (w *writer) write(p []byte) error {
	for len(p) > 0 {
		n := min(len(p), blockBytes-len(w.block))
		w.block = append(w.block, p[:n]...)
		p = p[n:]
		if len(w.block) < blockBytes {
			continue
		}
		if err := w.flush(binary.LittleEndian.AppendUint64(w.block, w.checksum())); err != nil {
			return err
		}
		w.blocks++
		w.block = w.block[:0]
	}
	return nil
}

func (w *writer) flush(block []byte) error {
	_, err := w.file.WriteAt(block, offset(w.blocks*blockBytes))
	return err
}

// sync writes what there is to the disk.
func (w *writer) sync() error {
	if err := w.flush(w.block); err != nil {
		return err
	}
	return w.file.Sync()
}

// end writes the last block. Its checksum is complemented, so that no other block is the last.
func (w *writer) end() error {
	return errors.Join(w.flush(binary.LittleEndian.AppendUint64(w.block, ^w.checksum())), w.file.Sync(), w.close())
}

// close closes the file, unless it is closed.
func (w *writer) close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}

// A reader reads the blocks of a file. It implements io.Reader and io.ByteReader.
type reader struct {
	file    *os.File
	origin  origin
	number  int64  // of the next block
	buffer  []byte // a block and its checksum
	content []byte // what is not read yet of the block before
	last    bool   // that was the last block
}

// openReader opens a file, and skips some bytes of the content.
func openReader(path string, from origin, skipped int64) (*reader, error) {
	file, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	r := &reader{file: file, origin: from, number: skipped / blockBytes, buffer: make([]byte, blockBytes+checksumBytes)}
	err = r.next()
	if err == nil && skipped%blockBytes > int64(len(r.content)) {
		err = changed(path, offset(skipped))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	r.content = r.content[skipped%blockBytes:]
	return r, nil
}

// next reads a block. After the last one it is io.EOF.
func (r *reader) next() error {
	if r.last {
		return io.EOF
	}
	begins := offset(r.number * blockBytes)
	n, err := r.file.ReadAt(r.buffer, begins)
	if err != nil && err != io.EOF {
		return err
	}
	if n < checksumBytes {
		return changed(r.file.Name(), begins)
	}
	r.content = r.buffer[:n-checksumBytes]
	sum := binary.LittleEndian.Uint64(r.buffer[n-checksumBytes:])
	if r.last = n < len(r.buffer); r.last {
		sum = ^sum
	}
	if sum != r.origin.checksum(r.number, r.content) {
		return changed(r.file.Name(), begins)
	}
	r.number++
	return nil
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for len(r.content) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.content)
	r.content = r.content[n:]
	return n, nil
}

// ReadByte implements io.ByteReader.
func (r *reader) ReadByte() (byte, error) {
	var b [1]byte
	_, err := r.Read(b[:])
	return b[0], err
}

// longestKey is the most bytes that a key of a state has.
const longestKey = 1 << 24

// key appends bytes of a length that was read before.
func (r *reader) key(to []byte, length uint64) ([]byte, error) {
	begin := len(to)
	if length > longestKey {
		return to, r.changed()
	}
	to = slices.Grow(to, int(length))[:begin+int(length)]
	_, err := io.ReadFull(r, to[begin:])
	return to, r.inside(err)
}

// inside is an error in the middle of something, where the file does not end.
func (r *reader) inside(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.changed()
	}
	return err
}

// changed says that what was read last does not make sense, or is not complete.
func (r *reader) changed() error { return changed(r.file.Name(), offset((r.number-1)*blockBytes)) }

// changed says that a file does not have what was written to it.
func changed(path string, at int64) error {
	return &CheckpointError{path, fmt.Sprintf("offset %d: this is not what was written: the file was changed or cut, or is of another exploration", at)}
}

// openRegular opens a file that is in a directory of an exploration. What is no regular file is
// refused: a FIFO may wait for ever, and a link may lead to a file that is not to be changed.
func openRegular(path string, flag int) (*os.File, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, &CheckpointError{path, "is no regular file"}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, flag, 0o666)
}
