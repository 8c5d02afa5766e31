package explore

import "errors"

// SetBatch sets the number of states of a batch, and returns a function that undoes it.
func SetBatch(states int) (undo func()) {
	old := batchStates
	batchStates = states
	return func() { batchStates = old }
}

// TellEnd writes what two shards say at the end of the first level: the first has found so many states.
func TellEnd(dir, identity string, states int) (path string, err error) {
	x := exchangeOf(dir, identity, Shard{1, 2})
	x.level = 1
	other := exchangeOf(dir, identity, Shard{2, 2})
	other.level = 1
	return x.path(x.doneName(1, 1)), errors.Join(x.tell(levelEnd{States: states}), other.tell(levelEnd{}))
}

// ListenToEnds reads what both shards said: how many states the next level has.
func ListenToEnds(dir, identity string) (states int, err error) {
	x := exchangeOf(dir, identity, Shard{1, 2})
	x.level = 1
	all, err := x.listen()
	return all.States, err
}
