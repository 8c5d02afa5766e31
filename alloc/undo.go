package alloc

// unlessDone calls do, and after it undo, unless do has returned nil: also if do panics, or ends
// the goroutine. It returns the error of do.
func unlessDone(undo func(), do func() error) (err error) {
	done := false
	defer func() {
		if !done {
			undo()
		}
	}()
	err = do()
	done = err == nil
	return err
}

// unlessReturned is unlessDone for a step whose error needs no undo.
func unlessReturned(undo, do func()) {
	_ = unlessDone(undo, func() error {
		do()
		return nil
	})
}
