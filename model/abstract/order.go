package abstract

import "slices"

// Order and time. The operators have the names of AbstractMemory.tla.

// behind is how many pieces of each queue the next work of a stream comes after.
func behind(queues [][]Piece, stream int) []int {
	counts := make([]int, len(queues))
	if queue := queues[stream-1]; len(queue) > 0 {
		copy(counts, queue[len(queue)-1].Behind)
		counts[stream-1] = len(queue)
	}
	return counts
}

// used is the queues after some streams have launched work that uses memory.
func used(queues [][]Piece, streams Users, memory Bytes) [][]Piece {
	next := slices.Clone(queues)
	for i, queue := range queues {
		if streams.Has(i + 1) {
			next[i] = append(slices.Clip(queue), Piece{memory, behind(queues, i+1)})
		}
	}
	return next
}

// Used is the state after a stream has launched work that uses memory.
func (s State) Used(stream int, memory Bytes) State {
	s.Queues = used(s.Queues, Users(0).With(stream), memory)
	return s
}

// waiting is the queues after a stream waits on the device, behind so many pieces of each queue.
func waiting(queues [][]Piece, stream int, pieces []int) [][]Piece {
	next := slices.Clone(queues)
	next[stream-1] = append(slices.Clip(queues[stream-1]), Piece{Behind: pieces})
	return next
}

// completable reports whether so many pieces of each queue can have completed.
func completable(queues [][]Piece, counts []int) bool {
	for s, queue := range queues {
		for _, p := range queue[:counts[s]] {
			for t, n := range p.Behind {
				if n > counts[t] {
					return false
				}
			}
		}
	}
	return true
}

// left is what is pending after they have.
func left(queues [][]Piece, counts []int) [][]Piece {
	rest := make([][]Piece, len(queues))
	for s, queue := range queues {
		for _, p := range queue[counts[s]:] {
			still := make([]int, len(counts))
			for t, n := range p.Behind {
				still[t] = max(0, n-counts[t])
			}
			rest[s] = append(rest[s], Piece{p.Uses, still})
		}
	}
	return rest
}

// timePasses reports whether the queues after a step are what is left of some.
func timePasses(queues, after [][]Piece) bool {
	counts := make([]int, len(queues))
	for s := range queues {
		if counts[s] = len(queues[s]) - len(after[s]); counts[s] < 0 {
			return false
		}
	}
	return completable(queues, counts) && slices.EqualFunc(left(queues, counts), after, func(a, b []Piece) bool {
		return slices.EqualFunc(a, b, Piece.equal)
	})
}

// Complete is the state after so many pieces of each queue have completed; they must be able to.
func (s State) Complete(counts []int) State {
	s.Queues = left(s.Queues, counts)
	return s
}

// upTo lists all lists of numbers that are at least those of one list and at most those of another.
func upTo(least, most []int) (all [][]int) {
	all = [][]int{nil}
	for i := range most {
		var longer [][]int
		for _, before := range all {
			for n := least[i]; n <= most[i]; n++ {
				longer = append(longer, append(slices.Clone(before), n))
			}
		}
		all = longer
	}
	return all
}

// lengths are those of the queues.
func lengths(queues [][]Piece) (list []int) {
	for _, queue := range queues {
		list = append(list, len(queue))
	}
	return list
}
