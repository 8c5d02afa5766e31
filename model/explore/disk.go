package explore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// diskStore is a store in a directory:
//
//	states        for each state, how it was reached and its fingerprint: 16 bytes
//	level-000012  the keys of the states of a level, each after its length
//	checkpoint    a point at which the exploration can be resumed (checkpoint.go)
//	lock          is locked while a process explores there
//
// The first two are in blocks (blocks.go).
// A level is removed when there is a checkpoint after it.
type diskStore struct {
	dir    string
	number int // of the level that is explored

	identity string

	log      writer
	next     writer
	level    *reader
	consumed int64 // bytes of the level's content that are read
}

// recordBytes is the length of a record in the log.
const recordBytes = 16

func (d *diskStore) path(name string) string { return filepath.Join(d.dir, name) }

func (d *diskStore) origin(name string) origin { return originOf(d.identity, name) }

// statesName is the name of the log.
const statesName = "states"

func levelName(number int) string { return fmt.Sprintf("level-%06d", number) }

// openDisk opens the files at a checkpoint.
func openDisk(dir, identity string, at *checkpoint) (d *diskStore, err error) {
	d = &diskStore{dir: dir, identity: identity, number: at.Level, consumed: at.Read}
	if d.log, err = openWriter(d.path(statesName), d.origin(statesName), at.Log); err != nil {
		return nil, err
	}
	if err = d.openNext(at.Next); err == nil && at.Level > 0 { // there is no level before the initial states
		err = d.open()
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// openNext opens the next level, to write.
func (d *diskStore) openNext(at position) (err error) {
	name := levelName(d.number + 1)
	d.next, err = openWriter(d.path(name), d.origin(name), at)
	return err
}

// open opens the level that is explored.
func (d *diskStore) open() (err error) {
	name := levelName(d.number)
	d.level, err = openReader(d.path(name), d.origin(name), d.consumed)
	return err
}

// add implements store.
func (d *diskStore) add(key []byte, print fingerprint, by arrival) error {
	var record [recordBytes]byte
	binary.LittleEndian.PutUint32(record[:], by.from)
	binary.LittleEndian.PutUint16(record[4:], by.step)
	binary.LittleEndian.PutUint16(record[6:], uint16(print.part()))
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
		length, err := binary.ReadUvarint(d.level)
		if err == io.EOF {
			break
		}
		if err != nil {
			return d.level.inside(err)
		}
		if to.keys, err = d.level.key(to.keys, length); err != nil {
			return err
		}
		to.ends = append(to.ends, len(to.keys))
		d.consumed += int64(len(binary.AppendUvarint(nil, length))) + int64(length)
	}
	return nil
}

// advance implements store.
func (d *diskStore) advance() error {
	if err := errors.Join(d.next.end(), d.closeLevel()); err != nil {
		return err
	}
	d.number++
	d.consumed = 0
	if err := d.openNext(position{}); err != nil {
		return err
	}
	return d.open()
}

func (d *diskStore) closeLevel() error {
	if d.level == nil {
		return nil
	}
	err := d.level.file.Close()
	d.level = nil
	return err
}

// arrival implements store. What the record says is tested by following it (counterexample.go).
func (d *diskStore) arrival(state int) (by arrival, err error) {
	if err := d.log.flush(d.log.block); err != nil {
		return by, err
	}
	var record [recordBytes]byte
	at := offset(recordBytes * int64(state))
	if _, err := d.log.file.ReadAt(record[:], at); err == io.EOF {
		return by, changed(d.log.file.Name(), at)
	} else if err != nil {
		return by, err
	}
	return arrival{from: binary.LittleEndian.Uint32(record[:]), step: binary.LittleEndian.Uint16(record[4:])}, nil
}

// fingerprintIn is as much of a fingerprint as a record has.
func fingerprintIn(record []byte) fingerprint {
	return fingerprint{uint64(binary.LittleEndian.Uint16(record[6:]) % partCount), binary.LittleEndian.Uint64(record[8:])}
}

// bytes implements store.
func (d *diskStore) bytes() uint64 { return 3 * (blockBytes + checksumBytes) }

// sync writes everything to the disk.
func (d *diskStore) sync() error {
	return errors.Join(d.log.sync(), d.next.sync())
}

// removeBefore removes the levels before the one that is explored.
func (d *diskStore) removeBefore() error {
	for number := d.number - 1; number > 0; number-- {
		if err := os.Remove(d.path(levelName(number))); errors.Is(err, os.ErrNotExist) {
			return nil // the earlier ones were removed before
		} else if err != nil {
			return err
		}
	}
	return nil
}

// load adds all states of the log to the known ones, and asks after each block whether the memory
// suffices. The last block was tested when the log was opened.
func (d *diskStore) load(to known, suffices func() error) error {
	all := &reader{file: d.log.file, origin: d.log.origin, buffer: make([]byte, blockBytes+checksumBytes)}
	for all.number < d.log.blocks {
		if err := all.next(); err != nil {
			return err
		}
		if err := errors.Join(d.loadBlock(to, all.content), suffices()); err != nil {
			return err
		}
	}
	return d.loadBlock(to, d.log.block)
}

func (d *diskStore) loadBlock(to known, records []byte) error {
	for record := range slices.Chunk(records, recordBytes) {
		if !to.add(fingerprintIn(record), nil) {
			return &CheckpointError{d.log.file.Name(), "has a state twice"}
		}
	}
	return nil
}

func (d *diskStore) close() error {
	return errors.Join(d.closeLevel(), d.log.close(), d.next.close())
}
