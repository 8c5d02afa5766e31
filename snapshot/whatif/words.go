package whatif

// OutOfMemoryInWords says whether the program runs out of memory, as the table does.
func (p *Prediction) OutOfMemoryInWords() string { return p.oomInTable() }
