package explore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/internal/kept"
)

// TestBlocks: content of any length is read as it was written, from where one likes, and the file is as long as it must be.
func TestBlocks(t *testing.T) {
	dir := t.TempDir()
	for _, length := range []int{0, 1, blockBytes - 1, blockBytes, blockBytes + 1, 2*blockBytes + 5} {
		path := filepath.Join(dir, fmt.Sprint(length))
		content := make([]byte, length)
		for i := range content {
			content[i] = byte(i * 7 / 3)
		}
		w, err := openWriter(path, 35, position{})
		if err = errors.Join(err, w.write(content[:length/2]), w.write(content[length/2:])); err != nil {
			t.Fatal(err)
		}
		if at := w.position(); at.Written != int64(length) {
			t.Errorf("%d bytes: %d written", length, at.Written)
		}
		if err := w.end(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != int64(length+(length/blockBytes+1)*checksumBytes) {
			t.Errorf("%d bytes: %v, a file of %d", length, err, info.Size())
		}
		for _, skipped := range []int{0, length / 2, length} {
			r, err := openReader(path, 35, int64(skipped))
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.key(nil, uint64(length-skipped))
			if err != nil || !bytes.Equal(got, content[skipped:]) {
				t.Errorf("%d bytes from %d on: %v", length, skipped, err)
			}
			if _, err := r.key(nil, 1); err == nil {
				t.Errorf("%d bytes: there is one more", length)
			}
			r.file.Close()
		}
		if r, err := openReader(path, 35, int64(length+1)); err == nil {
			t.Errorf("%d bytes: read from byte %d on: %v", length, length+1, r)
		}
	}
}

// TestKeptFileErrors: what is said when a file fails, for each file and each thing that is done with it.
func TestKeptFileErrors(t *testing.T) {
	var out strings.Builder
	stopped := t.TempDir()
	stopExploration(t, stopped)
	for _, closed := range []string{"nothing", "states", "next", "level"} {
		for _, does := range []struct {
			name string
			it   func(d *diskStore) error
		}{
			{"add a full block of states", func(d *diskStore) error {
				d.log.block = d.log.block[:blockBytes-recordBytes]
				return d.add(nil, fingerprint{}, arrival{})
			}},
			{"add a long key", func(d *diskStore) error { return d.add(make([]byte, blockBytes), fingerprint{}, arrival{}) }},
			{"add where the length does not fit", func(d *diskStore) error {
				d.next.block = d.next.block[:blockBytes-1]
				return d.add(nil, fingerprint{}, arrival{})
			}},
			{"read", func(d *diskStore) error { d.level.content = nil; return d.read(&batch{}) }},
			{"read too long a key", func(d *diskStore) error {
				d.level.content = binary.AppendUvarint(nil, longestKey+1)
				return d.read(&batch{})
			}},
			{"read half a length", func(d *diskStore) error { d.level.content, d.level.last = []byte{0x80}, true; return d.read(&batch{}) }},
			{"read half a key", func(d *diskStore) error { d.level.content, d.level.last = []byte{2, 1}, true; return d.read(&batch{}) }},
			{"advance", (*diskStore).advance},
			{"advance to what is no file", func(d *diskStore) error {
				return errors.Join(os.Mkdir(d.path(levelName(d.number+2)), 0o777), d.advance())
			}},
			{"arrival", func(d *diskStore) error { _, err := d.arrival(3); return err }},
			{"arrival of none", func(d *diskStore) error { _, err := d.arrival(1 << 20); return err }},
			{"sync", (*diskStore).sync},
			{"open the states again", func(d *diskStore) error { return d.log.begin(1, position{}) }},
			{"load", func(d *diskStore) error { return d.load(newKeySet(), func() error { return nil }) }},
			{"load twice", func(d *diskStore) error {
				known := newKeySet()
				return errors.Join(d.load(known, nil), d.load(known, nil))
			}},
			{"remove what is not there", (*diskStore).removeBefore},
			{"remove what is no file", func(d *diskStore) error {
				return errors.Join(os.MkdirAll(d.path(levelName(d.number-1)+"/in"), 0o777), d.removeBefore())
			}},
			{"close", (*diskStore).close},
		} {
			dir := t.TempDir()
			d := storeOf(t, stopped, dir)
			if file := map[string]*os.File{"states": d.log.file, "next": d.next.file, "level": d.level.file}[closed]; file != nil {
				file.Close()
			}
			said := strings.ReplaceAll(fmt.Sprint(does.it(d)), dir+"/", "")
			fmt.Fprintf(&out, "%s closed, %s: %s\n", closed, does.name, strings.ReplaceAll(said, "\n", "; "))
			d.close()
		}
	}
	kept.Compare(t, "testdata/files.txt", out.String())
}

// stopExploration explores in a directory, and stops.
func stopExploration(t *testing.T, dir string) {
	o, left := below(200), 4
	o.Stopped = func() bool { left--; return left == 0 }
	if _, err := ExploreWith(counter{99}, o, Resources{Dir: dir, Identity: "counter", Every: math.MaxInt64}); err != nil {
		t.Fatal(err)
	}
}

// storeOf is the store of an exploration that was stopped, in a copy of its directory.
func storeOf(t *testing.T, stopped, dir string) *diskStore {
	if err := os.CopyFS(dir, os.DirFS(stopped)); err != nil {
		t.Fatal(err)
	}
	at, err := readCheckpoint(dir, "counter")
	if err != nil {
		t.Fatal(err)
	}
	d, err := openDisk(dir, "counter", at)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestLoad: all states of several blocks are loaded, and after each block it is asked whether the memory suffices.
func TestLoad(t *testing.T) {
	d := &diskStore{dir: t.TempDir()}
	var err error
	if d.log, err = openWriter(d.path(statesName), 1, position{}); err != nil {
		t.Fatal(err)
	}
	const states = 2*blockBytes/recordBytes + 3
	for i := range uint64(states) {
		var record [recordBytes]byte
		binary.LittleEndian.PutUint64(record[8:], (i+1)*0x9e3779b97f4a7c15)
		if err := d.log.write(record[:]); err != nil {
			t.Fatal(err)
		}
	}
	for enough, want := range []struct {
		loaded int
		err    error
	}{{blockBytes / recordBytes, errStore}, {2 * blockBytes / recordBytes, errStore}, {states, nil}, {states, nil}} {
		known, asked := &compactSet{}, 0
		err := d.load(known, func() error {
			if asked++; asked > enough {
				return errStore
			}
			return nil
		})
		loaded := 0
		for i := range known.parts {
			loaded += known.parts[i].used
		}
		if loaded != want.loaded || !errors.Is(err, want.err) {
			t.Errorf("memory for %d blocks: %d states, %v; want %d, %v", enough, loaded, err, want.loaded, want.err)
		}
	}
	if err := d.log.close(); err != nil {
		t.Error(err)
	}
}

// TestSense: at which numbers a checkpoint contradicts itself.
func TestSense(t *testing.T) {
	whole := checkpoint{Level: 1, First: 2, Last: 5, Done: 3, States: 9, Log: position{Written: 9 * recordBytes}}
	for name, c := range map[string]struct {
		change func(c *checkpoint)
		want   bool
	}{
		"as it is":                      {func(*checkpoint) {}, true},
		"level 0":                       {func(c *checkpoint) { c.Level = 0 }, true},
		"level -1":                      {func(c *checkpoint) { c.Level = -1 }, false},
		"nothing read":                  {func(c *checkpoint) { c.Read = 0 }, true},
		"less than nothing read":        {func(c *checkpoint) { c.Read = -1 }, false},
		"first 0":                       {func(c *checkpoint) { c.First = 0 }, true},
		"first -1":                      {func(c *checkpoint) { c.First = -1 }, false},
		"first 3, beyond the last":      {func(c *checkpoint) { c.First = 3 }, false},
		"none done":                     {func(c *checkpoint) { c.Done = 0 }, true},
		"-1 done":                       {func(c *checkpoint) { c.Done = -1 }, false},
		"4 done, beyond the last":       {func(c *checkpoint) { c.Done = 4 }, false},
		"last is all":                   {func(c *checkpoint) { c.Last = 9 }, true},
		"last is more than all":         {func(c *checkpoint) { c.Last = 10 }, false},
		"as many states as can be":      {func(c *checkpoint) { c.States, c.Log.Written = maxStates, maxStates*recordBytes }, true},
		"more states":                   {func(c *checkpoint) { c.States, c.Log.Written = maxStates+1, (maxStates+1)*recordBytes }, false},
		"a log of other states":         {func(c *checkpoint) { c.Log.Written++ }, false},
		"a failure at the first state":  {func(c *checkpoint) { c.Failure = &failure{State: 0} }, true},
		"a failure at the last state":   {func(c *checkpoint) { c.Failure = &failure{State: 8} }, true},
		"a failure behind the last one": {func(c *checkpoint) { c.Failure = &failure{State: 9} }, false},
		"a failure before the first":    {func(c *checkpoint) { c.Failure = &failure{State: -1} }, false},
	} {
		of := whole
		c.change(&of)
		if of.makesSense() != c.want {
			t.Errorf("%s: makes sense: %v", name, !c.want)
		}
	}
}

// TestSealed: a text with its checksum is read as it was written, and one of another format, or that contradicts itself, is refused.
func TestSealed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "checkpoint")
	for text, want := range map[string]string{
		`{"format":1}`: "has format 1, not 2",
		`{"format":2,"identity":"it","level":-1}`:           "has numbers that contradict each other",
		`{"format":2,"identity":"it"}`:                      "",
		`{"state_sum":"1"}`:                                 `is no checkpoint: "1" is not a sum of 128 bits`,
		`{"state_sum":"00000000000000010000000000000002 "}`: `is no checkpoint: "00000000000000010000000000000002 " is not a sum of 128 bits`,
	} {
		if err := writeSealed(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if body, sealed, err := readSealed(path); string(body) != text || !sealed || err != nil {
			t.Errorf("%s: read %q, %v, %v", text, body, sealed, err)
		}
		c, err := readCheckpoint(dir, "it")
		if want == "" && err == nil && c != nil {
			continue
		}
		if err == nil || err.Error() != path+": "+want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if err := os.Mkdir(path+".new", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := writeSealed(path, nil); err == nil || err.Error() != path+".new: is no regular file" {
		t.Error(err)
	}
	if _, _, err := readSealed(filepath.Join(path, "in")); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Error(err)
	}
}

// TestSizes: what the known states take, and how many bytes a store on disk has in memory.
func TestSizes(t *testing.T) {
	s := &compactSet{}
	var sizes []uint64
	for i := range uint64(31) {
		s.add(fingerprint{7, i << 58}, nil)
		sizes = append(sizes, s.bytes()/8)
	}
	if got, want := fmt.Sprint(sizes), "[16 16 16 16 16 16 16 16 16 16 16 16 20 20 20 25 25 25 25 31 31 31 31 31 38 38 38 38 38 47 47]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if s.add(fingerprint{7, 0}, nil) || !s.add(fingerprint{8, 0}, nil) {
		t.Error("a fingerprint of 0 is as any other")
	}
	if got := (&diskStore{}).bytes(); got != 3*(65536+8) {
		t.Error(got)
	}
	if newKeySet().number(fingerprint{}, nil) != nil {
		t.Error("what was not added has a number")
	}
}
