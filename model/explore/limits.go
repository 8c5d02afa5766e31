package explore

import (
	"errors"
	"fmt"
	"time"
)

// Resources are what an exploration may use. The zero value is as much memory as it needs.
type Resources struct {
	// MaxMemory bounds the memory of the exploration, in bytes; 0: no bound. It is tested
	// before each batch. It does not count what the garbage collector has not freed yet.
	MaxMemory uint64

	// Dir, unless it is empty, is a directory for the states. If it has a checkpoint the
	// exploration is resumed. Then only fingerprints are in memory, and Options.Edges,
	// Text and LeadsTo cannot be set.
	Dir string

	// Identity says what is explored. A checkpoint is resumed only if its is the same.
	Identity string

	// Every is the time between two checkpoints; 0: there is one after each batch.
	Every time.Duration
}

// A LimitError says that an exploration has ended because a limit was reached. It can be
// resumed if it was in a directory.
type LimitError struct {
	States int // that were found
	Reason string
}

func (e *LimitError) Error() string { return fmt.Sprintf("after %d states: %s", e.States, e.Reason) }

// ExploreWith is Explore with bounded resources. Errors are those of files, *LimitError, and
// *CheckpointError.
func ExploreWith[S any](specification Specification[S], options Options[S], resources Resources) (Result[S], error) {
	e := newExploration(specification, options, resources)
	if resources.Dir == "" {
		e.store = &memoryStore{}
		err := e.begin()
		if err == nil {
			err = e.run()
		}
		return e.result, err
	}
	if e.keepsEdges() {
		return e.result, errors.New("explore: edges, digests and liveness need all states in memory, not in a directory")
	}
	lock, err := lockDir(resources.Dir)
	if err != nil {
		return e.result, err
	}
	err = e.runIn(resources.Dir)
	return e.result, errors.Join(err, lock.Close())
}

// runIn begins or resumes an exploration in a directory.
func (e *exploration[S]) runIn(dir string) error {
	at, err := readCheckpoint(dir, e.resources.Identity)
	if err != nil {
		return err
	}
	isNew := at == nil
	if isNew {
		at = &checkpoint{}
	}
	d, err := openDisk(dir, e.resources.Identity, at)
	if err != nil {
		return err
	}
	e.store = d
	if isNew {
		err = e.begin()
	} else {
		err = e.resume(at)
	}
	if err == nil {
		err = e.run()
	}
	return errors.Join(err, d.close())
}

// checkMemory reports whether the memory suffices for another batch.
func (e *exploration[S]) checkMemory() error {
	bytes := e.known.bytes() + e.store.bytes()
	for i := range e.chunks {
		bytes += uint64(cap(e.chunks[i].keys) + successorBytes*cap(e.chunks[i].successors))
	}
	if limit := e.resources.MaxMemory; limit > 0 && bytes > limit {
		return &LimitError{e.result.States, fmt.Sprintf("%d bytes of memory do not suffice", limit)}
	}
	return nil
}
