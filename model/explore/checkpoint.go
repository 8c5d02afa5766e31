package explore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A checkpoint is a point between two batches at which an exploration in a directory can be
// resumed. The files may be longer than they were then; the rest is ignored.
type checkpoint struct {
	Format   int    `json:"format"`
	Identity string `json:"identity"` // of what is explored
	Finished bool   `json:"finished"`

	Level   int   `json:"level"`   // that is explored
	First   int   `json:"first"`   // the number of its first state
	Done    int   `json:"done"`    // how many of its states are expanded
	Read    int64 `json:"read"`    // the length of their keys in the level's file
	Written int64 `json:"written"` // the length of the next level's file

	States    int `json:"states"`
	Edges     int `json:"edges"`
	Generated int `json:"generated"`
	Depth     int `json:"depth"`
	StateSum  Sum `json:"state_sum"`
	EdgeSum   Sum `json:"edge_sum"`

	Failure *failure `json:"failure,omitempty"`
}

const checkpointFormat = 1

// A CheckpointError says why an exploration cannot be resumed, or begun in a directory.
type CheckpointError struct{ Path, Reason string }

func (e *CheckpointError) Error() string { return e.Path + ": " + e.Reason }

// readCheckpoint reads the checkpoint of a directory; nil if the directory is empty.
func readCheckpoint(dir, identity string) (*checkpoint, error) {
	path := filepath.Join(dir, "checkpoint")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, checkEmpty(dir)
	}
	if err != nil {
		return nil, err
	}
	var c checkpoint
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return nil, &CheckpointError{path, fmt.Sprintf("is no checkpoint: %v", err)}
	}
	switch {
	case c.Format != checkpointFormat:
		return nil, &CheckpointError{path, fmt.Sprintf("has format %d, not %d", c.Format, checkpointFormat)}
	case c.Identity != identity:
		return nil, &CheckpointError{path, fmt.Sprintf("is of another exploration: %s, not %s", c.Identity, identity)}
	case c.States < 0 || c.Level < 0 || c.Read < 0 || c.Written < 0:
		return nil, &CheckpointError{path, "has a negative number"}
	}
	return &c, nil
}

// checkEmpty reports whether a directory has nothing but a lock.
func checkEmpty(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Name() != "lock" {
			return &CheckpointError{dir, "has files, but no checkpoint"}
		}
	}
	return nil
}

// lockDir makes a directory, and excludes other processes from it.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(&CheckpointError{dir, "another process explores there"}, lock.Close())
	}
	return lock, nil
}

// save writes a checkpoint. Until it is complete the one before is there.
func (e *exploration[S]) save(finished bool) error {
	d, onDisk := e.store.(*diskStore)
	if !onDisk || e.exchange != nil && e.done > 0 && !finished {
		return nil // a shard goes on from the beginning of a level, since it sends steps until its end
	}
	if err := d.sync(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(checkpoint{
		Format: checkpointFormat, Identity: e.resources.Identity, Finished: finished,
		Level: d.number, First: e.first, Done: e.done, Read: d.consumed, Written: d.next.written,
		States: e.result.States, Edges: e.result.Edges, Generated: e.result.Generated, Depth: e.result.Depth,
		StateSum: e.result.StateSum, EdgeSum: e.result.EdgeSum, Failure: e.failure,
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(d.path("checkpoint"), append(text, '\n')); err != nil {
		return err
	}
	e.saved = time.Now()
	return d.removeBefore()
}

// replaceFile writes a file that is never there in part.
func replaceFile(path string, text []byte) error {
	file, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// resume continues from a checkpoint.
func (e *exploration[S]) resume(c *checkpoint) error {
	d := e.store.(*diskStore)
	e.first, e.done, e.failure = c.First, c.Done, c.Failure
	e.result.States, e.result.Edges, e.result.Generated, e.result.Depth = c.States, c.Edges, c.Generated, c.Depth
	e.result.StateSum, e.result.EdgeSum = c.StateSum, c.EdgeSum
	e.finished = c.Finished
	if c.Finished {
		return nil
	}
	sum, err := d.load(e.known, c.States)
	if err == nil && sum != c.StateSum[1] {
		err = &CheckpointError{d.log.file.Name(), "was changed since the checkpoint"}
	}
	if err != nil || e.exchange == nil {
		return err
	}
	return e.exchange.begin(c.Depth)
}
