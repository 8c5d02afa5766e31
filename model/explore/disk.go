package explore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// diskStore is a store in a directory:
//
//	states        for each state, how it was reached and its fingerprint: 16 bytes
//	level-000012  the keys of the states of a level, each after its length
//	checkpoint    a point at which the exploration can be resumed (checkpoint.go)
//	lock          is locked while a process explores there
//
// A level is removed when there is a checkpoint after it.
type diskStore struct {
	dir    string
	number int // of the level that is explored

	log      writer
	next     writer
	level    *os.File
	from     *bufio.Reader // of level
	consumed int64         // bytes of the level that are read
}

// recordBytes is the length of a record in the log.
const recordBytes = 16

// A writer is a file that is written at its end.
type writer struct {
	file    *os.File
	to      *bufio.Writer
	written int64
}

const bufferBytes = 1 << 18

// openWriter opens a file and cuts it to a length.
func openWriter(path string, length int64) (w writer, err error) {
	if w.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return w, err
	}
	info, err := w.file.Stat()
	if err == nil && info.Size() < length {
		err = &CheckpointError{path, fmt.Sprintf("has %d bytes, and had %d", info.Size(), length)}
	}
	if err == nil && info.Size() > length {
		err = w.file.Truncate(length)
	}
	if err == nil {
		_, err = w.file.Seek(length, io.SeekStart)
	}
	w.to, w.written = bufio.NewWriterSize(w.file, bufferBytes), length
	return w, err
}

func (w *writer) write(p []byte) error {
	n, err := w.to.Write(p)
	w.written += int64(n)
	return err
}

// sync writes what is buffered to the disk.
func (w *writer) sync() error {
	if err := w.to.Flush(); err != nil {
		return err
	}
	return w.file.Sync()
}

func (d *diskStore) path(name string) string { return filepath.Join(d.dir, name) }

func (d *diskStore) levelPath(number int) string {
	return d.path(fmt.Sprintf("level-%06d", number))
}

// openDisk opens the files at a checkpoint.
func openDisk(dir string, at *checkpoint) (d *diskStore, err error) {
	d = &diskStore{dir: dir, number: at.Level, consumed: at.Read}
	if d.log, err = openWriter(d.path("states"), recordBytes*int64(at.States)); err != nil {
		return nil, err
	}
	if d.next, err = openWriter(d.levelPath(at.Level+1), at.Written); err != nil {
		return nil, err
	}
	if at.Level == 0 {
		return d, nil // there is no level before the initial states
	}
	return d, d.open()
}

// open opens the level that is explored.
func (d *diskStore) open() (err error) {
	if d.level, err = os.Open(d.levelPath(d.number)); err != nil {
		return err
	}
	d.from = bufio.NewReaderSize(d.level, bufferBytes)
	_, err = d.level.Seek(d.consumed, io.SeekStart)
	return err
}

// add implements store.
func (d *diskStore) add(key []byte, print fingerprint, by arrival) error {
	var record [recordBytes]byte
	binary.LittleEndian.PutUint32(record[:], by.from)
	binary.LittleEndian.PutUint16(record[4:], by.step)
	binary.LittleEndian.PutUint16(record[6:], uint16(print.part())|uint16(by.shard)<<10)
	binary.LittleEndian.PutUint64(record[8:], print[1])
	if err := d.log.write(record[:]); err != nil {
		return err
	}
	var length [binary.MaxVarintLen64]byte
	if err := d.next.write(binary.AppendUvarint(length[:0], uint64(len(key)))); err != nil {
		return err
	}
	return d.next.write(key)
}

// read implements store.
func (d *diskStore) read(to *batch) error {
	to.clear()
	for to.len() < batchStates {
		length, err := binary.ReadUvarint(d.from)
		if err == io.EOF {
			break
		}
		begin := len(to.keys)
		if err == nil {
			to.keys = append(to.keys, make([]byte, length)...)
			_, err = io.ReadFull(d.from, to.keys[begin:])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.level.Name(), err)
		}
		to.ends = append(to.ends, len(to.keys))
		d.consumed += int64(len(binary.AppendUvarint(nil, length))) + int64(length)
	}
	return nil
}

// advance implements store.
func (d *diskStore) advance() error {
	if err := d.next.sync(); err != nil {
		return err
	}
	err := errors.Join(d.closeLevel(), d.next.file.Close())
	if err != nil {
		return err
	}
	d.number++
	d.consumed = 0
	if d.next, err = openWriter(d.levelPath(d.number+1), 0); err != nil {
		return err
	}
	return d.open()
}

func (d *diskStore) closeLevel() error {
	if d.level == nil {
		return nil
	}
	return d.level.Close()
}

// arrival implements store.
func (d *diskStore) arrival(state int) (by arrival, err error) {
	if err := d.log.to.Flush(); err != nil {
		return by, err
	}
	var record [recordBytes]byte
	if _, err := d.log.file.ReadAt(record[:], recordBytes*int64(state)); err != nil {
		return by, err
	}
	return arrivalIn(record[:]), nil
}

func arrivalIn(record []byte) arrival {
	by := arrival{from: binary.LittleEndian.Uint32(record), step: binary.LittleEndian.Uint16(record[4:])}
	if len(record) == recordBytes {
		by.shard = record[7] >> 2 // above the part
	}
	return by
}

// fingerprintIn is as much of a fingerprint as a record has.
func fingerprintIn(record []byte) fingerprint {
	return fingerprint{uint64(binary.LittleEndian.Uint16(record[6:]) % partCount), binary.LittleEndian.Uint64(record[8:])}
}

// bytes implements store.
func (d *diskStore) bytes() uint64 { return 3 * bufferBytes }

// sync writes everything to the disk.
func (d *diskStore) sync() error {
	return errors.Join(d.log.sync(), d.next.sync())
}

// removeBefore removes the levels before the one that is explored.
func (d *diskStore) removeBefore() error {
	for number := d.number - 1; number > 0; number-- {
		if err := os.Remove(d.levelPath(number)); errors.Is(err, os.ErrNotExist) {
			return nil // the earlier ones were removed before
		} else if err != nil {
			return err
		}
	}
	return nil
}

// load adds all states of the log to the known ones, and returns the sum of the second
// halves of their fingerprints.
func (d *diskStore) load(to known, states int) (sum uint64, err error) {
	from := bufio.NewReaderSize(io.NewSectionReader(d.log.file, 0, recordBytes*int64(states)), bufferBytes)
	var record [recordBytes]byte
	for range states {
		if _, err := io.ReadFull(from, record[:]); err != nil {
			return 0, fmt.Errorf("%s: %w", d.log.file.Name(), err)
		}
		print := fingerprintIn(record[:])
		if !to.add(print, nil) {
			return 0, &CheckpointError{d.log.file.Name(), "has a state twice"}
		}
		sum += print[1]
	}
	return sum, nil
}

func (d *diskStore) close() error {
	return errors.Join(d.closeLevel(), d.log.file.Close(), d.next.file.Close())
}
