package alloc

import (
	"cmp"
	"fmt"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// Captures. While a stream is captured into a graph, work that is put on it does not run. So an
// event that is recorded on it cannot be queried or waited for (CUDA calls both illegal), and the
// memory that the graph uses must stay with the graph: the program routes its requests to a
// private pool (BeginAllocateToPool).
//
// Routing and capture are two things. Programs also route requests without a capture
// (torch.cuda.use_mem_pool, pytorch/pytorch#133600), and one stream is captured while threads on
// others do eager work. With the rule CapturesByRouting the allocator, as upstream
// (captures_underway), nevertheless handles every routing on the device as a possible capture, for
// all threads; what that costs eager work is in pytorch/pytorch#175015 and #159674. With
// CapturesByMark (pytorch/pytorch#181830) the program marks its captures, and an operation is part
// of one if the caller's current stream is captured.
//
// In a possible capture (mayCaptureLocked) mallocs and EmptyCache neither record nor query events
// nor wait for them, and EmptyCache leaves the default pool alone (release.go). This file has what
// else differs:
//
//	pool routing      requests that a filter accepts are served by a private pool
//	deferred blocks   a freed block that other streams used gets no events yet
//	reuse             the graph can show that such a block may be allocated again

// A poolRouting routes the requests that its filter accepts to a private pool.
type poolRouting struct {
	pool   *pool
	filter spec.RequestFilter
}

// requestsRoutedLocked reports whether requests are routed to a private pool.
func (d *device) requestsRoutedLocked() bool { return len(d.capturesUnderway) > 0 }

// mayCaptureLocked reports whether a capture may be under way, as far as the operation has to care.
// With CapturesByMark it is an error if the capture of the caller's current stream was invalidated.
func (d *device) mayCaptureLocked() (bool, error) {
	if d.rules.Captures == upstream.CapturesByRouting {
		return d.requestsRoutedLocked(), nil
	}
	if d.capturesMarked == 0 {
		return false, nil
	}
	info, err := d.captureInfo(d.id, d.operation.stream)
	if err == nil && info.Status == spec.CaptureInvalidated {
		err = &spec.CaptureInvalidatedError{Device: d.id, Stream: d.operation.stream}
	}
	return err == nil && info.Status != spec.CaptureNone, err
}

// MarkCaptureBegin says that a capture has begun; see spec.CaptureMarker.
func (a *Allocator) MarkCaptureBegin(dev spec.Device) error {
	return a.onDevice("mark_capture_begin", dev, func(d *device) error {
		d.capturesMarked++
		return nil
	})
}

// MarkCaptureEnd says that a capture has ended.
func (a *Allocator) MarkCaptureEnd(dev spec.Device) error {
	const op = "mark_capture_end"
	return a.onDevice(op, dev, func(d *device) error {
		if d.capturesMarked == 0 {
			return &spec.InvalidStateError{Op: op, Reason: "no capture is marked as under way"}
		}
		d.capturesMarked--
		return nil
	})
}

// getPoolLocked chooses the pool of a request: that of the routing begun last among those whose
// filter accepts the request (FirstRoutingWins: begun first), else the default pool.
func (d *device) getPoolLocked(params *allocParams) *pool {
	request := spec.Request{
		Device: d.id, Stream: params.stream, Bytes: params.requestedSize, Thread: d.operation.thread,
	}
	n := len(d.capturesUnderway)
	for i := range n {
		if !d.rules.FirstRoutingWins {
			i = n - 1 - i
		}
		if r := d.capturesUnderway[i]; r.filter(request) {
			return r.pool
		}
	}
	return d.defaultPool
}

// routingToLocked is the index of the routing to a pool, or -1.
func (d *device) routingToLocked(id spec.PoolID) int {
	return slices.IndexFunc(d.capturesUnderway, func(r poolRouting) bool { return r.pool.id == id })
}

// markIfCapturingLocked marks the private pool of a request as captured if the driver says
// that the request's stream is being captured. The graph will use the addresses again, so
// the memory stays with the pool while the pool is live.
func (d *device) markIfCapturingLocked(p *pool, stream spec.Stream) error {
	if p == d.defaultPool || p.captured {
		return nil
	}
	info, err := d.captureInfo(d.id, stream)
	p.captured = err == nil && info.Status != spec.CaptureNone
	return err
}

// BeginAllocateToPool routes requests to a private pool; see spec.PrivatePools.
func (a *Allocator) BeginAllocateToPool(
	dev spec.Device, id spec.PoolID, filter spec.RequestFilter,
) error {
	const op = "begin_allocate_to_pool"
	if filter == nil {
		return &spec.InvalidArgumentError{Op: op, Reason: "there is no filter"}
	}
	return a.onDevice(op, dev, func(d *device) error {
		if d.routingToLocked(id) >= 0 {
			reason := "requests are already being routed to pool " + id.String()
			return &spec.InvalidStateError{Op: op, Reason: reason}
		}
		p, err := d.createOrIncrefPoolLocked(op, id, spec.PoolOptions{})
		if err != nil {
			return err
		}
		d.capturesUnderway = append(d.capturesUnderway, poolRouting{p, filter})
		return nil
	})
}

// EndAllocateToPool ends the routing that BeginAllocateToPool began.
func (a *Allocator) EndAllocateToPool(dev spec.Device, id spec.PoolID) error {
	return a.noCaller().EndAllocateToPool(dev, id)
}

// EndAllocateToPool is Allocator.EndAllocateToPool for the caller.
func (a callerView) EndAllocateToPool(dev spec.Device, id spec.PoolID) error {
	const op = "end_allocate_to_pool"
	return a.Allocator.onDevice(op, dev, func(d *device) error {
		d.operation = a.operation(d, nil)
		at := d.routingToLocked(id)
		if at < 0 {
			reason := "no requests are being routed to pool " + id.String()
			return &spec.InvalidStateError{Op: op, Reason: reason}
		}
		if d.rules.PoolEndCompletesDeferred && d.cfg.GraphCaptureRecordStreamReuse {
			if err := d.resolveDeferredLocked(d.capturesUnderway[at].pool); err != nil {
				return err
			}
		}
		d.capturesUnderway = slices.Delete(d.capturesUnderway, at, at+1)
		if !d.requestsRoutedLocked() {
			d.graphReuseContext = nil
		}
		return nil
	})
}

// captureInfo queries the driver's capture information about a stream.
func (d *device) captureInfo(dev spec.Device, stream spec.Stream) (spec.CaptureInfo, error) {
	info, err := d.driver.CaptureStatus(dev, stream)
	if err != nil {
		return info, fmt.Errorf("asking whether stream %v is being captured: %w", stream, err)
	}
	return info, nil
}

// Deferred blocks. Work that is being captured does not run, so an event recorded in its
// stream cannot be waited for. A block with stream uses that is freed while there may be a
// capture (mayCaptureLocked) is deferred. The first malloc without one (or the step of EmptyCache
// and EmptyPool that waits for events, and any checkpoint) drops the stream uses that are
// marked duringCapture, as upstream, and records events for the others. A block without
// others becomes free at once. With PoolEndCompletesDeferred, EndAllocateToPool does so for
// the blocks of its pool; otherwise it changes no deferred block. Dropping assumes that each
// marked use was recorded in a capture, which joins all of its streams before it ends. By the
// rule CapturesByRouting there need not have been a capture, and by any rule one mark stands
// for all uses of the block on a stream, those before the capture included. Such a use is not
// waited for: a known hazard (deviations kept/use-not-captured and kept/use-before-capture).

// deferredBlocks are ordered by stream handle, then by address.
type deferredBlocks []deferredBlock

type deferredBlock struct {
	block   *block
	markers []spec.GraphNode // free markers; none: no malloc completes the free in a capture
}

// deferBlockLocked defers the free of a block.
func (d *device) deferBlockLocked(b *block, markers []spec.GraphNode) {
	at, _ := slices.BinarySearchFunc(d.deferredBlocks, b, func(f deferredBlock, b *block) int {
		return cmp.Or(cmp.Compare(f.block.segment.stream, b.segment.stream), cmp.Compare(f.block.ptr, b.ptr))
	})
	d.deferredBlocks = slices.Insert(d.deferredBlocks, at, deferredBlock{b, markers})
}

// insertEventsDeferredUntilNoCaptureLocked makes the deferred blocks pending, by recording events
// for their stream uses, or free, if all of these are dropped. It is called when no capture may be
// under way, and by a checkpoint. If an event cannot be recorded, that block and those after it
// stay deferred.
func (d *device) insertEventsDeferredUntilNoCaptureLocked() error {
	return d.resolveDeferredLocked(nil)
}

// resolveDeferredLocked makes the deferred blocks of a pool, or all if p is nil, pending or free.
func (d *device) resolveDeferredLocked(p *pool) error {
	for at := 0; at < len(d.deferredBlocks); {
		b := d.deferredBlocks[at].block
		if p != nil && b.segment.blockPool.owner != p {
			at++
			continue
		}
		uses := slices.Clone(b.readRare().streamUses)
		uses = slices.DeleteFunc(uses, func(u streamUse) bool { return u.duringCapture })
		events, err := d.recordEventsLocked(uses)
		if err != nil {
			return err
		}
		d.deferredBlocks = slices.Delete(d.deferredBlocks, at, at+1)
		b.writeRare().streamUses = uses
		if len(events) > 0 {
			d.queueEventsLocked(b, events)
		} else {
			d.completeFreeLocked(b)
		}
	}
	return nil
}

// Reuse within a capture (graph_capture_record_stream_reuse). When a block is freed, the
// terminal nodes of its streams in the captured graph become its free markers: every use of
// the block in the graph is at them or before them. (A use before the capture is not in the
// graph, and is not waited for: deviation kept/use-joins-capture.) A malloc on the
// allocation stream tests the markers. If all of them are reachable backwards from the
// stream's present terminal nodes, then what is captured from here on runs after all uses
// in the graph, and the block can be allocated again.
//
// Nodes are only added to the graph. So the nodes that one search has visited are kept, and
// the next search stops at them.

// A graphReuseContext has, for each capture and stream, the nodes visited so far.
type graphReuseContext map[reuseKey]map[spec.GraphNode]bool

type reuseKey struct {
	capture spec.CaptureID
	stream  spec.Stream
}

// recordFreeMarkersLocked returns the free markers of a block. There are none if the
// setting is off, or if one of the streams is not being captured into the same graph: then
// no malloc completes the free while requests are routed.
func (d *device) recordFreeMarkersLocked(b *block) ([]spec.GraphNode, error) {
	if !d.cfg.GraphCaptureRecordStreamReuse {
		return nil, nil
	}
	own, err := d.captureInfo(d.id, b.segment.stream)
	if err != nil || own.Status != spec.CaptureActive {
		return nil, err
	}
	markers := slices.Clone(own.Terminals)
	for _, u := range b.readRare().streamUses {
		info, err := d.captureInfo(u.stream.Device, u.stream.Stream)
		if err != nil || info.Status != spec.CaptureActive || info.Graph != own.Graph {
			return nil, err
		}
		markers = append(markers, info.Terminals...)
	}
	slices.Sort(markers)
	return slices.Compact(markers), nil
}

// freeSafeBlocksInCaptureLocked frees the deferred blocks of the request's stream
// whose markers are all reachable from the stream's terminal nodes.
func (d *device) freeSafeBlocksInCaptureLocked(params *allocParams) error {
	info, err := d.captureInfo(d.id, params.stream)
	if err != nil || info.Status != spec.CaptureActive || len(info.Terminals) == 0 {
		return err
	}
	visited, err := d.updateVisitedLocked(params.stream, info)
	if err != nil {
		return err
	}
	var left deferredBlocks
	for _, f := range d.deferredBlocks {
		if f.block.segment.stream != params.stream || !reusable(f.markers, visited) {
			left = append(left, f)
			continue
		}
		f.block.rare.streamUses = f.block.rare.streamUses[:0]
		d.completeFreeLocked(f.block)
	}
	d.deferredBlocks = left
	return nil
}

// reusable reports whether a block can be allocated again: it has markers, and all were
// visited.
func reusable(markers []spec.GraphNode, visited map[spec.GraphNode]bool) bool {
	return len(markers) > 0 && !slices.ContainsFunc(markers, func(n spec.GraphNode) bool { return !visited[n] })
}

// updateVisitedLocked returns the nodes that are reachable backwards from the terminal
// nodes of a stream (upstream: update_visited).
func (d *device) updateVisitedLocked(
	stream spec.Stream, info spec.CaptureInfo,
) (map[spec.GraphNode]bool, error) {
	if d.graphReuseContext == nil {
		d.graphReuseContext = graphReuseContext{}
	}
	key := reuseKey{info.ID, stream}
	visited := d.graphReuseContext[key]
	if visited == nil {
		visited = map[spec.GraphNode]bool{}
		d.graphReuseContext[key] = visited
	}
	// Otherwise the next search would stop at nodes whose dependencies are unknown.
	forget := func() { delete(d.graphReuseContext, key) }
	err := unlessDone(forget, func() error { return visit(d.driver, info.Terminals, visited) })
	if err != nil {
		return nil, err
	}
	return visited, nil
}

// visit adds the nodes that are reachable backwards from some nodes to those visited.
func visit(driver spec.Driver, from []spec.GraphNode, visited map[spec.GraphNode]bool) error {
	toVisit := slices.Clone(from)
	for len(toVisit) > 0 {
		node := toVisit[len(toVisit)-1]
		toVisit = toVisit[:len(toVisit)-1]
		if visited[node] {
			continue
		}
		dependencies, err := driver.NodeDependencies(node)
		if err != nil {
			return fmt.Errorf("asking what a graph node depends on: %w", err)
		}
		visited[node] = true
		toVisit = append(toVisit, dependencies...)
	}
	return nil
}
