package explore

// SetBatch sets the number of states of a batch, and returns a function that undoes it.
func SetBatch(states int) (undo func()) {
	old := batchStates
	batchStates = states
	return func() { batchStates = old }
}
