package compare

import (
	"math"

	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// Under other settings than the recorded ones the start of an incomplete history is not known. If
// the program repeats itself, its record tells what it did before, and what it would have left:
// runs begin after a run of the record. How far that may miss depends on how coarse the blocks
// are. The figures below hold for 10,000 predictions of programs like training and serving
// (tell.TestLatePrograms), and for recorded programs.

// unknownStart is what tells how far the start of an incomplete history can be inferred.
type unknownStart struct {
	// unlike is by how much of the recorded peak a run from a warm start misses it under the
	// recorded settings: 0 for a program that did the same before.
	unlike float64
	// turnover is how often the memory of the recorded peak is freed in the history.
	turnover float64
	// again is the part of the requests whose size was requested at least twice before.
	again float64
	// grain is the largest block as a part of the recorded peak.
	grain float64
}

const (
	mostUnlike    = 0.1 // a program that is further off did something else before
	leastUnlike   = 0.02
	leastTurnover = 3
	leastAgain    = 0.85
	grains        = 2.5 // by how many of the largest blocks a prediction may miss
)

// margin is by which part of it a prediction may miss the truth, if the program repeats itself.
func (s *unknownStart) margin() (part float64, repeats bool) {
	return max(s.unlike, leastUnlike, grains*s.grain), s.unlike <= mostUnlike && s.turnover >= leastTurnover && s.again >= leastAgain
}

func (c *comparing) findStart() (s unknownStart) {
	w := c.Workload
	if w.Complete() {
		return s
	}
	_, recorded := history.ReservedBytes(w.Trace, w.InitialSegments)
	if recorded == 0 {
		return unknownStart{unlike: 1}
	}
	o, err := play.Run(w, play.RunOptions{Settings: w.Settings, Reading: history.Reading{EmptyCache: true}, Assumptions: play.WarmStart, Memory: c.memory})
	if err != nil {
		return unknownStart{unlike: 1}
	}
	s.unlike = math.Abs(float64(o.PeakReserved)/float64(recorded) - 1)
	requests, again, seen, freed, largest := 0, 0, map[uint64]int{}, uint64(0), uint64(0)
	for i := range w.InitialSegments {
		for _, b := range w.InitialSegments[i].Blocks {
			if b.State != spec.Inactive {
				largest = max(largest, b.Size)
			}
		}
	}
	for i := range w.Trace {
		switch e := &w.Trace[i]; e.Action {
		case spec.ActionFreeCompleted:
			freed += e.Size
		case spec.ActionAlloc:
			requests++
			if seen[e.Size] > 1 {
				again++
			}
			seen[e.Size]++
			largest = max(largest, e.Size)
		}
	}
	s.turnover, s.grain = float64(freed)/float64(recorded), float64(largest)/float64(recorded)
	s.again = float64(again) / float64(requests) // a workload has one at least
	return s
}
