package fakegpu

// Programs that poll. On a real device time passes while a program asks an event again and
// again, so the asking ends. Here time passes only when somebody says so. Whoever calls a
// program that may poll bounds the number of queries, call by call.

// BoundQueries says that of the queries from now on only most find work that is not
// complete; at each one beyond them the device catches up as far as that query needs, as it
// does for a call that waits. The next call of BoundQueries begins anew. Nothing is
// bounded before the first one, nor on a machine whose waits fail (WaitsFail).
func (g *GPU) BoundQueries(most int) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.bounded, g.queriesLeft = true, most
}

// polled counts a query that finds work incomplete, and reports whether it is one too many.
func (g *GPU) polled() bool {
	if !g.bounded || g.machine.config.Waits == WaitsFail {
		return false
	}
	g.queriesLeft--
	return g.queriesLeft < 0
}
