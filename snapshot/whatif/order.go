package whatif

import (
	"cmp"
	"slices"
	"strings"
)

// Best gives the rows, the best first: those that run out of memory under no model,
// then those under some; then those that seldom wait for the device to return memory;
// then those that hold least. Of those that fail the one that gets furthest is best.
// Equals keep the order in which they were asked for, in which simple settings come
// first.
func (s *Study) Best() []*Row {
	rows := make([]*Row, len(s.Rows))
	for i := range s.Rows {
		rows[i] = &s.Rows[i]
	}
	slices.SortStableFunc(rows, func(a, b *Row) int {
		return cmp.Or(
			cmp.Compare(a.Failing*b.Runs, b.Failing*a.Runs),
			-cmp.Compare(a.reached(), b.reached()),
			cmp.Compare(a.Retries, b.Retries),
			cmp.Compare(a.PeakReserved, b.PeakReserved),
		)
	})
	return rows
}

// reached is the number of the request at which it ended, 0 if none failed.
func (r *Row) reached() int {
	if r.First == nil {
		return 0
	}
	return r.First.Number
}

// Choice is the row to take: the best one, or one of simpler settings that is as good
// within a fiftieth of the memory.
func (s *Study) Choice() *Row {
	rows := s.Best()
	choice := rows[0]
	for _, r := range rows {
		asGood := r.Failing*choice.Runs == choice.Failing*r.Runs && r.reached() == choice.reached() && r.Retries <= choice.Retries &&
			r.PeakReserved <= rows[0].PeakReserved+rows[0].PeakReserved/worthwhile
		if asGood && r.keys() < choice.keys() {
			choice = r
		}
	}
	return choice
}

// worthwhile is the share of the memory, one in so many, that is worth a change.
const worthwhile = 50

// keys is how many settings there are.
func (r *Row) keys() int {
	if r.Settings == "" {
		return 0
	}
	return 1 + strings.Count(r.Settings, ",")
}
