package alloc

import (
	"fmt"
	"slices"
	"sync"

	"gaugeblock/spec"
)

// A block that other streams used may be given out again only when those streams
// have passed the point at which it was freed. An event marks that point in each,
// and the block waits until all of its events have completed.
//
// The events of one stream complete in the order in which they were recorded, so
// they wait in a queue, and only its front is ever asked about. Upstream visits
// the queues in the order of a hash table; ours is by stream handle, so that runs
// can be repeated.

// pendingEvents are the queues, ascending by stream, none empty.
type pendingEvents []eventQueue

type eventQueue struct {
	use    streamUse
	events []pendingEvent // oldest first
}

// pendingEvent is an event that holds a block back.
type pendingEvent struct {
	event spec.EventHandle
	block *block
}

// recordEvents records an event at the present end of each of the streams. If one
// cannot be recorded none is kept.
func (d *device) recordEvents(uses []streamUse) ([]spec.EventHandle, error) {
	var events []spec.EventHandle
	for _, u := range uses {
		event, err := d.recordEvent(u)
		if err != nil {
			for i, e := range events {
				d.eventPools[uses[i].device].put(e)
			}
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

func (d *device) recordEvent(u streamUse) (spec.EventHandle, error) {
	event, err := d.eventPools[u.device].get(d.driver, u.device)
	if err != nil {
		return 0, fmt.Errorf("creating an event for stream %v: %w", u.stream, err)
	}
	if err := d.driver.RecordEvent(event, u.device, u.stream); err != nil {
		d.eventPools[u.device].put(event)
		return 0, fmt.Errorf("recording an event in stream %v: %w", u.stream, err)
	}
	return event, nil
}

// holdBack makes a block wait for the events recorded for its uses, one each, in
// their order. The events stand for the uses from here on.
func (d *device) holdBack(b *block, events []spec.EventHandle) {
	for i, u := range b.uses {
		d.pending.push(u, pendingEvent{events[i], b})
	}
	b.events += int32(len(events))
	b.uses = b.uses[:0]
}

func (p *pendingEvents) push(u streamUse, e pendingEvent) {
	at := 0
	for at < len(*p) && (*p)[at].use.less(u) {
		at++
	}
	if at == len(*p) || !(*p)[at].use.sameStream(u) {
		*p = slices.Insert(*p, at, eventQueue{use: u})
	}
	(*p)[at].events = append((*p)[at].events, e)
}

// dropEmpty removes the queues that have become empty.
func (p *pendingEvents) dropEmpty() {
	*p = slices.DeleteFunc(*p, func(q eventQueue) bool { return len(q.events) == 0 })
}

// processEvents frees the blocks whose events have all completed. It does not
// wait. Under a capture that forbids to free, no event may be asked about either,
// not even those of streams that take no part in it.
func (d *device) processEvents(context any) error {
	if len(d.deferred) > 0 {
		if err := d.resolveDeferred(context); err != nil {
			return err
		}
	}
	if len(d.pending) == 0 || d.driver.FreeForbidden() {
		return nil
	}
	defer d.pending.dropEmpty()
	for i := range d.pending {
		if err := d.processQueue(&d.pending[i], context); err != nil {
			return err
		}
	}
	return nil
}

// processQueue takes completed events off the front of a queue, up to the first
// that is not ready.
func (d *device) processQueue(q *eventQueue, context any) error {
	for len(q.events) > 0 {
		complete, err := d.driver.QueryEvent(q.events[0].event)
		if err != nil {
			return fmt.Errorf("querying an event of stream %v: %w", q.use.stream, err)
		}
		if !complete {
			return nil
		}
		d.completeEvent(q, 0, context)
	}
	return nil
}

// completeEvent takes an event off its queue, and frees its block if it was the
// last that held it.
func (d *device) completeEvent(q *eventQueue, at int, context any) {
	e := q.events[at]
	if at == 0 {
		q.events[0] = pendingEvent{}
		q.events = q.events[1:]
	} else {
		q.events = slices.Delete(q.events, at, at+1)
	}
	d.eventPools[q.use.device].put(e.event)
	e.block.events--
	if e.block.events == 0 {
		d.freeBlock(e.block, context)
	}
}

// waitForEvents waits for the outstanding events of a pool's blocks, or of all
// blocks when only is nil, and frees the blocks.
func (d *device) waitForEvents(only *pool, context any) error {
	d.stats.NumSyncAllStreams++
	if err := d.resolveDeferred(context); err != nil {
		return err
	}
	defer d.pending.dropEmpty()
	for i := range d.pending {
		q := &d.pending[i]
		for at := 0; at < len(q.events); {
			e := q.events[at]
			if only != nil && e.block.pool.owner != only {
				at++
				continue
			}
			if err := d.driver.SynchronizeEvent(e.event); err != nil {
				return fmt.Errorf("waiting for stream %v: %w", q.use.stream, err)
			}
			d.completeEvent(q, at, context)
		}
	}
	return nil
}

// An eventPool keeps the driver events of one device for reuse: making one can be
// slow. Its lock is its own, since a block of one device may have been used on a
// stream of another.
type eventPool struct {
	mu   sync.Mutex
	idle []spec.EventHandle
}

func (p *eventPool) get(driver spec.Driver, dev spec.Device) (spec.EventHandle, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		event := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return event, nil
	}
	return driver.CreateEvent(dev)
}

func (p *eventPool) put(event spec.EventHandle) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, event)
}

// destroy gives all idle events back to the driver.
func (p *eventPool) destroy(driver spec.Driver) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.idle); n > 0; n = len(p.idle) {
		if err := driver.DestroyEvent(p.idle[n-1]); err != nil {
			return fmt.Errorf("destroying an event: %w", err)
		}
		p.idle = p.idle[:n-1]
	}
	return nil
}
