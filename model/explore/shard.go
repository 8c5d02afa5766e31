package explore

import (
	"os"
	"path/filepath"
)

// endLevel exchanges states with the other shards at the end of a level. The exploration ends
// when no shard has a state of the next level, or one has found a failure.
func (e *exploration[S]) endLevel() error {
	x := e.exchange
	if err := x.end(); err != nil {
		return err
	}
	arrived := func(shard int) string {
		if shard == x.shard.Index {
			return x.dir // nothing to wait for
		}
		return x.path(x.stepsName(x.level, shard, x.shard.Index))
	}
	if e.result.Stopped = !x.await(arrived, e.options.Stopped); e.result.Stopped {
		return nil
	}
	for from := 1; from <= x.shard.Of; from++ {
		if from == x.shard.Index {
			continue
		}
		if err := x.receive(from, e.addReceived); err != nil {
			return err
		}
	}
	if err := e.store.(*diskStore).sync(); err != nil { // the others may need the log for a counterexample
		return err
	}
	if err := x.tell(e.levelEnd()); err != nil {
		return err
	}
	said := func(shard int) string { return x.path(x.doneName(x.level, shard)) }
	if e.result.Stopped = !x.await(said, e.options.Stopped); e.result.Stopped {
		return nil
	}
	all, err := x.listen()
	if err != nil {
		return err
	}
	if all.State && e.failure != nil && e.failure.Step != none {
		e.failure = nil // another shard has a shorter counterexample
	}
	failed := all.State || all.Step
	e.finished = failed || all.States == 0
	e.result.Stopped = failed && e.failure == nil
	return nil
}

// levelEnd is what there is to say at the end of a level.
func (e *exploration[S]) levelEnd() levelEnd {
	return levelEnd{
		States: e.result.States - e.first - e.done,
		State:  e.failure != nil && e.failure.Step == none,
		Step:   e.failure != nil && e.failure.Step != none,
	}
}

// addReceived adds a state that another shard reached, unless it is known.
func (e *exploration[S]) addReceived(by arrival, key, class []byte) error {
	print := fingerprintOf(class)
	if !e.known.add(print, class) {
		return nil
	}
	return e.addState(key, class, print, by)
}

// arrivalOf is how a state of any shard was reached.
func (e *exploration[S]) arrivalOf(shard uint8, state int) (by arrival, err error) {
	if e.exchange == nil || int(shard) == e.exchange.shard.Index {
		return e.store.arrival(state)
	}
	log, err := openRegular(filepath.Join(Shard{int(shard), e.exchange.shard.Of}.dir(e.exchange.dir), statesName), os.O_RDONLY)
	if err != nil {
		return by, err
	}
	defer log.Close()
	return readArrival(log, state)
}
