package alloc

import (
	"fmt"
	"slices"
	"sync"

	"gaugeblock/spec"
)

// Stream uses and events. The order of the allocation stream alone does not protect a block
// that other streams used. When it is freed, an event is recorded on each of them, and the
// block is pending until it has no outstanding event. An event is outstanding until a query
// has returned that it has completed, or a wait for it has returned.
//
// The events of one stream complete in the order in which they were recorded. So each
// stream has a queue of outstanding events, and only the oldest is queried. Upstream visits
// the queues in the order of a hash table. Here it is the order of stream handles, then
// devices, so that a run can be repeated.

// recordStream records that a stream of device dev uses the block at ptr. A use on the
// allocation stream is ignored. (Upstream compares handles only, so the default stream
// of any device counts as the allocation stream of a block on a default stream: deviation
// streams/default-of-other-device.) It takes the mutex.
func (d *device) recordStream(
	o operation, ptr spec.Ptr, dev spec.Device, stream spec.Stream,
) error {
	d.mu.Lock()
	defer d.unlock()
	d.operation = o
	b := d.allocatedBlocks.findLocked(ptr)
	if b == nil {
		return &spec.InvalidPointerError{Op: "record_stream", Ptr: ptr}
	}
	if stream == b.segment.stream && dev == d.id {
		return nil
	}
	capturing, err := d.mayCaptureLocked()
	if err != nil {
		return err
	}
	b.addStreamUse(streamUse{spec.DeviceStream{Device: dev, Stream: stream}, capturing})
	return nil
}

// addStreamUse adds a use. A stream that is there already counts as used during routing if
// this use, or one before it, was.
func (b *block) addStreamUse(u streamUse) {
	rare := b.writeRare()
	uses, at := rare.streamUses, 0
	for at < len(uses) && lessStream(uses[at].stream, u.stream) {
		at++
	}
	if at < len(uses) && uses[at].stream == u.stream {
		uses[at].duringCapture = uses[at].duringCapture || u.duringCapture
		return
	}
	rare.streamUses = slices.Insert(uses, at, u)
}

// eventQueues are the queues of outstanding events, in the order of lessStream. None is
// empty between two operations (upstream: cuda_events).
type eventQueues []eventQueue

// eventQueue is the outstanding events of a stream, oldest first.
type eventQueue struct {
	stream spec.DeviceStream
	events []outstandingEvent
	popped int // of the first events, which are not outstanding any more
}

// outstandingEvent is an event and the pending block that it was recorded for.
type outstandingEvent struct {
	event spec.EventHandle
	block *block
}

// outstanding is the events that are outstanding.
func (q *eventQueue) outstanding() []outstandingEvent { return q.events[q.popped:] }

// push adds the latest event. It uses the space of those that were popped if that is half of it.
func (q *eventQueue) push(e outstandingEvent) {
	if len(q.events) == cap(q.events) && q.popped >= len(q.events)/2 {
		n := copy(q.events, q.outstanding())
		clear(q.events[n:])
		q.events, q.popped = q.events[:n], 0
	}
	q.events = append(q.events, e)
}

// pop takes out one of the outstanding events.
func (q *eventQueue) pop(at int) outstandingEvent {
	e := q.outstanding()[at]
	if at == 0 {
		q.events[q.popped] = outstandingEvent{}
		q.popped++
	} else {
		q.events = slices.Delete(q.events, q.popped+at, q.popped+at+1)
	}
	return e
}

// recordEventsLocked records an event on each of the streams. If one cannot be recorded, or the
// driver panics, all are put back into their event pools. What it returns is valid until it is
// called again.
func (d *device) recordEventsLocked(uses []streamUse) ([]spec.EventHandle, error) {
	d.recordedEvents = d.recordedEvents[:0]
	putBack := func() {
		for i, e := range d.recordedEvents {
			d.eventPools[uses[i].stream.Device].put(e)
		}
	}
	err := unlessDone(putBack, func() error {
		for _, u := range uses {
			event, err := d.recordEventLocked(u.stream)
			if err != nil {
				return err
			}
			d.recordedEvents = append(d.recordedEvents, event)
		}
		return nil
	})
	return d.recordedEvents, err
}

func (d *device) recordEventLocked(s spec.DeviceStream) (spec.EventHandle, error) {
	event, err := d.eventPools[s.Device].get(d.driver, s.Device)
	if err != nil {
		return 0, fmt.Errorf("creating an event for stream %v: %w", s.Stream, err)
	}
	err = unlessDone(func() { d.eventPools[s.Device].put(event) }, func() error {
		return d.driver.RecordEvent(event, s.Device, s.Stream)
	})
	if err != nil {
		return 0, fmt.Errorf("recording an event in stream %v: %w", s.Stream, err)
	}
	return event, nil
}

// queueEventsLocked makes a block pending: it queues the events that were recorded for the
// block's stream uses, one each, in their order. The events replace the stream uses.
// (Upstream's insert_events records the events, too; here that is recordEventsLocked.)
func (d *device) queueEventsLocked(b *block, events []spec.EventHandle) {
	rare := b.writeRare()
	for i, u := range rare.streamUses {
		d.cudaEvents.push(u.stream, outstandingEvent{events[i], b})
	}
	rare.eventCount += int32(len(events))
	rare.streamUses = rare.streamUses[:0]
}

// push adds an event to the queue of its stream. A new queue uses the space of one that was
// dropped.
func (q *eventQueues) push(s spec.DeviceStream, e outstandingEvent) {
	at := 0
	for at < len(*q) && lessStream((*q)[at].stream, s) {
		at++
	}
	if at == len(*q) || (*q)[at].stream != s {
		added := eventQueue{stream: s}
		if n := len(*q); n < cap(*q) {
			added.events = (*q)[:n+1][n].events
		}
		*q = slices.Insert(*q, at, added)
	}
	(*q)[at].push(e)
}

// dropEmpty removes the queues that have become empty. Their space stays behind the others.
func (q *eventQueues) dropEmpty() {
	all, kept := *q, 0
	for i := range all {
		if len(all[i].outstanding()) == 0 {
			all[i].events, all[i].popped = all[i].events[:0], 0
			continue
		}
		all[kept], all[i] = all[i], all[kept]
		kept++
	}
	*q = all[:kept]
}

// processEventsLocked makes the deferred blocks pending or free, and completes the free of
// the pending blocks whose events have all completed. It does not wait. While a capture forbids
// to free memory (Driver.FreeForbidden) no event may be queried, not even one of a stream
// that is not captured.
func (d *device) processEventsLocked() error {
	if len(d.deferredBlocks) > 0 {
		if err := d.insertEventsDeferredUntilNoCaptureLocked(); err != nil {
			return err
		}
	}
	if len(d.cudaEvents) == 0 || d.driver.FreeForbidden() {
		return nil
	}
	return d.processQueuesLocked()
}

func (d *device) processQueuesLocked() error {
	defer d.cudaEvents.dropEmpty()
	for i := range d.cudaEvents {
		if err := d.processQueueLocked(&d.cudaEvents[i]); err != nil {
			return err
		}
	}
	return nil
}

// processQueueLocked takes the completed events off a queue, up to the first that has
// not completed.
func (d *device) processQueueLocked(q *eventQueue) error {
	for len(q.outstanding()) > 0 {
		complete, err := d.driver.QueryEvent(q.outstanding()[0].event)
		if err != nil {
			return fmt.Errorf("querying an event of stream %v: %w", q.stream.Stream, err)
		}
		if !complete {
			return nil
		}
		d.popEventLocked(q, 0)
	}
	return nil
}

// popEventLocked takes an event that has completed off its queue. It completes the free of
// the block if the block has no other outstanding event.
func (d *device) popEventLocked(q *eventQueue, at int) {
	e := q.pop(at)
	d.eventPools[q.stream.Device].put(e.event)
	e.block.rare.eventCount--
	if e.block.rare.eventCount == 0 {
		d.completeFreeLocked(e.block)
		d.deliverLocked()
	}
}

// synchronizeAndFreeEventsLocked waits for the events of a pool's pending blocks, or of all
// if p is nil, and completes the frees. Before that it makes the deferred blocks pending or
// free. NumSyncAllStreams counts every call, also one with nothing to wait for.
func (d *device) synchronizeAndFreeEventsLocked(p *pool) error {
	d.stats.NumSyncAllStreams++
	if err := d.insertEventsDeferredUntilNoCaptureLocked(); err != nil {
		return err
	}
	defer d.cudaEvents.dropEmpty()
	for i := range d.cudaEvents {
		if err := d.synchronizeQueueLocked(&d.cudaEvents[i], p); err != nil {
			return err
		}
	}
	return nil
}

// synchronizeQueueLocked is synchronizeAndFreeEventsLocked for the events of a stream.
func (d *device) synchronizeQueueLocked(q *eventQueue, p *pool) error {
	for at := 0; at < len(q.outstanding()); {
		e := q.outstanding()[at]
		if p != nil && e.block.segment.blockPool.owner != p {
			at++
			continue
		}
		if err := d.driver.SynchronizeEvent(e.event); err != nil {
			return fmt.Errorf("waiting for stream %v: %w", q.stream.Stream, err)
		}
		d.popEventLocked(q, at)
	}
	return nil
}

// An eventPool keeps the unused events of one device, since creating an event can be slow
// (upstream: EventPool::PerDevicePool). It has a mutex of its own, because a block of one
// device can have been used on a stream of another.
type eventPool struct {
	mu     sync.Mutex
	unused []spec.EventHandle
}

func (p *eventPool) get(driver spec.Driver, dev spec.Device) (spec.EventHandle, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.unused); n > 0 {
		event := p.unused[n-1]
		p.unused = p.unused[:n-1]
		return event, nil
	}
	return driver.CreateEvent(dev)
}

func (p *eventPool) put(event spec.EventHandle) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unused = append(p.unused, event)
}

// destroy returns all unused events to the driver.
func (p *eventPool) destroy(driver spec.Driver) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.unused); n > 0; n = len(p.unused) {
		if err := driver.DestroyEvent(p.unused[n-1]); err != nil {
			return fmt.Errorf("destroying an event: %w", err)
		}
		p.unused = p.unused[:n-1]
	}
	return nil
}
