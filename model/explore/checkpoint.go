package explore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A checkpoint is a point between two batches at which an exploration in a directory can be
// resumed. The files may be longer than they were then; the rest is ignored. Behind it, in its
// file, is its checksum (sealed.go).
type checkpoint struct {
	Format   int    `json:"format"`
	Identity string `json:"identity"` // of what is explored
	Finished bool   `json:"finished"`

	Level int      `json:"level"` // that is explored
	First int      `json:"first"` // the number of its first state
	Last  int      `json:"last"`  // the number of the first state of the next level
	Done  int      `json:"done"`  // how many of its states are expanded
	Read  int64    `json:"read"`  // the length of their keys in the level's file
	Next  position `json:"next"`  // of the next level's file
	Log   position `json:"log"`   // of the file of all states

	States    int `json:"states"`
	Edges     int `json:"edges"`
	Generated int `json:"generated"`
	Depth     int `json:"depth"`
	StateSum  Sum `json:"state_sum"`
	EdgeSum   Sum `json:"edge_sum"`

	Failure *failure `json:"failure,omitempty"`
}

const checkpointFormat = 2

// A CheckpointError says why an exploration cannot be resumed, or begun in a directory.
type CheckpointError struct{ Path, Reason string }

func (e *CheckpointError) Error() string { return e.Path + ": " + e.Reason }

// readCheckpoint reads the checkpoint of a directory; nil if no exploration had one there.
func readCheckpoint(dir, identity string) (*checkpoint, error) {
	path := filepath.Join(dir, "checkpoint")
	text, sealed, err := readSealed(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, checkEmpty(dir)
	}
	if err != nil {
		return nil, err
	}
	var c checkpoint
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&c); err != nil {
		return nil, &CheckpointError{path, fmt.Sprintf("is no checkpoint: %v", err)}
	}
	switch {
	case c.Format != checkpointFormat:
		return nil, &CheckpointError{path, fmt.Sprintf("has format %d, not %d", c.Format, checkpointFormat)}
	case !sealed:
		return nil, changed(path, 0)
	case c.Identity != identity:
		return nil, &CheckpointError{path, fmt.Sprintf("is of another exploration: %s, not %s", c.Identity, identity)}
	case !c.makesSense():
		return nil, &CheckpointError{path, "has numbers that contradict each other"}
	}
	return &c, nil
}

func (c *checkpoint) makesSense() bool {
	return c.Level >= 0 && c.Read >= 0 && c.First >= 0 && c.Done >= 0 && c.First+c.Done <= c.Last && c.Last <= c.States && c.States <= maxStates &&
		c.Log.Written == recordBytes*int64(c.States) && (c.Failure == nil || c.Failure.State >= 0 && c.Failure.State < c.States)
}

// checkEmpty is an error if a directory has other files than those that an exploration makes before
// its first checkpoint. It may have ended before, as on a full disk; another one overwrites them.
func checkEmpty(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	before := []string{"lock", statesName, levelName(1), levelName(2), "checkpoint.new"}
	for _, f := range files {
		if !slices.Contains(before, f.Name()) {
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
	lock, err := openRegular(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := lockFile(lock); err != nil {
		return nil, errors.Join(&CheckpointError{dir, "another process explores there"}, lock.Close())
	}
	return lock, nil
}

// save writes a checkpoint. Until it is complete the one before is there.
func (e *exploration[S]) save(finished bool) error {
	d, onDisk := e.store.(*diskStore)
	if !onDisk {
		return nil
	}
	if err := d.sync(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(checkpoint{
		Format: checkpointFormat, Identity: e.resources.Identity, Finished: finished,
		Level: d.number, First: e.first, Last: e.last, Done: e.done, Read: d.consumed, Next: d.next.position(), Log: d.log.position(),
		States: e.result.States, Edges: e.result.Edges, Generated: e.result.Generated, Depth: e.result.Depth,
		StateSum: e.result.StateSum, EdgeSum: e.result.EdgeSum, Failure: e.failure,
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := writeSealed(d.path("checkpoint"), text); err != nil {
		return err
	}
	e.saved = time.Now()
	return d.removeBefore()
}

// resume continues from a checkpoint.
func (e *exploration[S]) resume(c *checkpoint) error {
	d := e.store.(*diskStore)
	e.first, e.last, e.done, e.failure = c.First, c.Last, c.Done, c.Failure
	e.result.States, e.result.Edges, e.result.Generated, e.result.Depth = c.States, c.Edges, c.Generated, c.Depth
	e.result.StateSum, e.result.EdgeSum = c.StateSum, c.EdgeSum
	e.finished = c.Finished
	if c.Finished {
		return nil
	}
	return d.load(e.known, e.checkMemory)
}
