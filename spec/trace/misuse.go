package trace

// TolerateMisuse lets through operations on allocations that are not live, and mallocs
// under the number of one that is. In a recording of a program that is sound these are
// mistakes of the recorder, so the reader refuses them; in the log of an allocator that
// is being checked they are what the log is read for. Whoever reads on has to keep
// count of what is live. It is to be called before the first Next.
func (t *Reader) TolerateMisuse() { t.refs.tolerant = true }
