package report

import "slices"

// Statistic is a row of torch.cuda.memory_summary, in bytes or as a number of allocations.
// What was allocated before the history is part of Current, but not of Allocated.
type Statistic struct {
	Name      string `json:"name"`
	Bytes     bool   `json:"bytes"`
	Current   uint64 `json:"current"` // at the end
	Peak      uint64 `json:"peak"`
	Allocated uint64 `json:"allocated"` // in the history, in total
	Freed     uint64 `json:"freed"`
}

// The indexes of the statistics.
const (
	allocatedMemory = iota
	activeMemory
	requestedMemory
	reservedMemory
	allocations
	activeAllocs
	numStatistics
)

// statisticNames are those of torch.cuda.memory_summary.
var statisticNames = [numStatistics]string{
	"Allocated memory", "Active memory", "Requested memory", "GPU reserved memory", "Allocations", "Active allocs",
}

// start counts what there is at the start of the history.
func (s *Statistic) start(n uint64) {
	s.Current += n
	s.Peak = s.Current
}

func (s *Statistic) add(n uint64) {
	s.Current += n
	s.Allocated += n
	s.Peak = max(s.Peak, s.Current)
}

func (s *Statistic) sub(n uint64) {
	n = min(n, s.Current) // the history may contradict itself; see history.Unrecorded
	s.Current -= n
	s.Freed += n
}

// named are the statistics of a state with their names.
func (s *allocatorState) named() []Statistic {
	list := slices.Clone(s.statistics[:]) // part of the state would keep the whole of it, and with it the snapshot
	for i := range list {
		list[i].Name, list[i].Bytes = statisticNames[i], i < allocations
	}
	return list
}
