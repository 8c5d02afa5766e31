package explore

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Several processes can explore together. Each, a shard, has the states whose fingerprints
// fall to it, and expands them. Successors that fall to another shard are written to a file
// for it, which it reads at the end of the level. The processes share nothing but a
// directory:
//
//	1-of-3/                   the store of the first of three shards (disk.go)
//	level-000012-1-to-3-of-3  the steps from the first shard's states of a level to the third's, in blocks (blocks.go)
//	level-000012-1-of-3       says that the first shard has read all files of that level
//
// Every file has its name only when it is complete. So a shard whose process ended goes on
// from its last checkpoint, which is at the beginning of a level, and writes the files of
// the level again. They may also have states that it sent in an earlier level, which it does
// not remember; the other shards know these.

// A Shard is one of Of shards: from 1 on. The zero value is the only one.
type Shard struct{ Index, Of int }

// MostShards is how many fit into a record of the log.
const MostShards = 1<<6 - 1

// dir is the directory of the shard's store.
func (s Shard) dir(in string) string {
	return filepath.Join(in, fmt.Sprintf("%d-of-%d", s.Index, s.Of))
}

// exchange is what a shard exchanges with the others.
type exchange struct {
	dir      string
	identity string // of what all shards explore
	shard    Shard
	level    int
	out      []writer      // by shard - 1, of the level
	sent     []fingerprint // some of the states that were sent, which need not be sent again
}

// exchangeOf is that of a shard of an exploration.
func exchangeOf(dir, identity string, s Shard) *exchange {
	return &exchange{dir: dir, shard: s, identity: fmt.Sprintf("%s, %d shards", identity, s.Of)}
}

// sentStates is how many states that were sent are remembered.
const sentStates = 1 << 18

// owner is the shard that a state falls to. The parts of a set depend on other bits.
func (x *exchange) owner(print fingerprint) int {
	return int(print[0]>>32%uint64(x.shard.Of)) + 1
}

func (x *exchange) path(name string) string { return filepath.Join(x.dir, name) }

func (x *exchange) origin(name string) origin { return originOf(x.identity, name) }

func (x *exchange) stepsName(level, from, to int) string {
	return fmt.Sprintf("%s-%d-to-%d-of-%d", levelName(level), from, to, x.shard.Of)
}

func (x *exchange) doneName(level, shard int) string {
	return fmt.Sprintf("%s-%d-of-%d", levelName(level), shard, x.shard.Of)
}

// begin opens the files for the other shards.
func (x *exchange) begin(level int) (err error) {
	if x.sent == nil {
		x.sent = make([]fingerprint, sentStates)
	}
	x.level, x.out = level, make([]writer, x.shard.Of)
	for i := range x.out {
		if to := i + 1; to != x.shard.Index && err == nil {
			name := x.stepsName(level, x.shard.Index, to)
			x.out[i], err = openWriter(x.path(name+".new"), x.origin(name), position{})
		}
	}
	return err
}

// send writes a step to a state of another shard: how it is reached, and the keys of the
// state and of its class.
func (x *exchange) send(print fingerprint, by arrival, key, class []byte) error {
	if sent := &x.sent[print[1]%sentStates]; *sent != print {
		*sent = print
	} else {
		return nil
	}
	var header [6 + 2*binary.MaxVarintLen64]byte
	binary.LittleEndian.PutUint32(header[:], by.from)
	binary.LittleEndian.PutUint16(header[4:], by.step)
	h := binary.AppendUvarint(header[:6], uint64(len(key)))
	h = binary.AppendUvarint(h, uint64(len(class)))
	w := &x.out[x.owner(print)-1]
	if err := w.write(h); err != nil {
		return err
	}
	if err := w.write(key); err != nil {
		return err
	}
	return w.write(class)
}

// end gives the files for the other shards their names.
func (x *exchange) end() error {
	for i := range x.out {
		to := i + 1
		if to == x.shard.Index {
			continue
		}
		path := x.path(x.stepsName(x.level, x.shard.Index, to))
		if err := x.out[i].end(); err != nil {
			return err
		}
		if err := os.Rename(path+".new", path); err != nil {
			return err
		}
	}
	x.out = nil
	return nil
}

// close closes the files for the other shards, if the level has not ended.
func (x *exchange) close() (err error) {
	if x == nil {
		return nil
	}
	for i := range x.out {
		err = errors.Join(err, x.out[i].close())
	}
	return err
}

// receive calls add for each step of a file from another shard.
func (x *exchange) receive(from int, add func(by arrival, key, class []byte) error) (err error) {
	name := x.stepsName(x.level, from, x.shard.Index)
	in, err := openReader(x.path(name), x.origin(name), 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.file.Close()) }()
	var header [6]byte
	var keys []byte
	for {
		if _, err := io.ReadFull(in, header[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return in.inside(err)
		}
		key, err1 := binary.ReadUvarint(in)
		class, err2 := binary.ReadUvarint(in)
		if err := errors.Join(err1, err2); err != nil {
			return in.inside(err)
		}
		if keys, err = in.key(keys[:0], key); err != nil {
			return err
		}
		if keys, err = in.key(keys, class); err != nil {
			return err
		}
		by := arrivalIn(header[:])
		by.shard = uint8(from)
		if err := add(by, keys[:key], keys[key:]); err != nil {
			return err
		}
	}
}

// levelEnd is what a shard says at the end of a level.
type levelEnd struct {
	Identity string `json:"identity"` // of what all shards explore
	States   int    `json:"states"`   // of the next level
	State    bool   `json:"state"`    // a state of this level breaks an invariant
	Step     bool   `json:"step"`     // a step from a state of this level breaks a property
}

// tell tells the other shards how the level ended.
func (x *exchange) tell(end levelEnd) error {
	end.Identity = x.identity
	text, err := json.Marshal(end)
	if err != nil {
		return err
	}
	return writeSealed(x.path(x.doneName(x.level, x.shard.Index)), text)
}

// listen adds up what all shards said at the end of the level.
func (x *exchange) listen() (all levelEnd, err error) {
	for shard := 1; shard <= x.shard.Of; shard++ {
		path := x.path(x.doneName(x.level, shard))
		text, sealed, err := readSealed(path)
		if err != nil {
			return all, err
		}
		var end levelEnd
		switch err := json.Unmarshal(text, &end); {
		case err != nil || !sealed:
			return all, changed(path, 0)
		case end.Identity != x.identity:
			return all, &CheckpointError{path, fmt.Sprintf("is of another exploration: %s, not %s", end.Identity, x.identity)}
		}
		all.States += end.States
		all.State, all.Step = all.State || end.State, all.Step || end.Step
	}
	return all, nil
}

// forget removes the files to this shard of a level that is not needed any more. What it
// said at the end remains: a shard that is resumed reads it again.
func (x *exchange) forget(level int) error {
	for from := 1; from <= x.shard.Of; from++ {
		if err := os.Remove(x.path(x.stepsName(level, from, x.shard.Index))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// await waits until there are files of all shards. It reports false if stopped does first.
func (x *exchange) await(path func(shard int) string, stopped func() bool) bool {
	for shard := 1; shard <= x.shard.Of; shard++ {
		for wait := time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
			if _, err := os.Lstat(path(shard)); !errors.Is(err, fs.ErrNotExist) {
				break // an error is reported when the file is opened
			}
			if stopped != nil && stopped() {
				return false
			}
			time.Sleep(wait)
		}
	}
	return true
}
