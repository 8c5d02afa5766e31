package alloc

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// Reuse inside a capture (graph_capture_record_stream_reuse). When a block is
// freed during a capture, the nodes at which its streams then stand are its
// markers: whatever used the block is at or before them. Later, when something is
// wanted on the block's own stream, and every marker lies behind the point where
// that stream now stands, everything captured from here on runs after all uses:
// the block can be given out again.
//
// "Behind" is found by walking the graph backwards from the stream's present
// terminals. The graph only grows, so what one walk has seen is kept, and the next
// stops where it began.

// captureReach is what has been found to be behind a stream, in each capture.
type captureReach map[reachKey]map[spec.GraphNode]bool

type reachKey struct {
	capture spec.CaptureID
	stream  spec.Stream
}

// freeMarkers are the nodes at which the block's streams stand, none unless the
// settings ask for reuse. There are none either if one of the streams is not
// being captured, or belongs to another capture: then only the end of everything
// will do. It asks the driver.
func (d *device) freeMarkers(b *block) ([]spec.GraphNode, error) {
	if !d.cfg.GraphCaptureRecordStreamReuse {
		return nil, nil
	}
	own, err := d.captureStatus(d.id, b.stream)
	if err != nil || own.State != spec.CaptureActive {
		return nil, err
	}
	markers := slices.Clone(own.Terminals)
	for _, u := range b.uses {
		status, err := d.captureStatus(u.device, u.stream)
		if err != nil || status.State != spec.CaptureActive || status.Graph != own.Graph {
			return nil, err
		}
		markers = append(markers, status.Terminals...)
	}
	slices.Sort(markers)
	return slices.Compact(markers), nil
}

func (d *device) captureStatus(dev spec.Device, stream spec.Stream) (spec.CaptureStatus, error) {
	status, err := d.driver.CaptureStatus(dev, stream)
	if err != nil {
		return status, fmt.Errorf("asking whether stream %v is being captured: %w", stream, err)
	}
	return status, nil
}

// freeSafeInCapture frees the put-off blocks of the request's stream all of whose
// markers are behind that stream.
func (d *device) freeSafeInCapture(w *want) error {
	status, err := d.captureStatus(d.id, w.stream)
	if err != nil || status.State != spec.CaptureActive || len(status.Terminals) == 0 {
		return err
	}
	behind, err := d.walkBack(w.stream, status)
	if err != nil {
		return err
	}
	var left deferredFrees
	for _, f := range d.deferred {
		if f.block.stream != w.stream || !allBehind(f.markers, behind) {
			left = append(left, f)
			continue
		}
		f.block.uses = f.block.uses[:0]
		d.freeBlock(f.block, w.context)
	}
	d.deferred = left
	return nil
}

func allBehind(markers []spec.GraphNode, behind map[spec.GraphNode]bool) bool {
	return len(markers) > 0 && !slices.ContainsFunc(markers, func(n spec.GraphNode) bool { return !behind[n] })
}

// walkBack completes what is known to be behind the stream, and returns it.
func (d *device) walkBack(stream spec.Stream, status spec.CaptureStatus) (map[spec.GraphNode]bool, error) {
	if d.reach == nil {
		d.reach = captureReach{}
	}
	key := reachKey{status.ID, stream}
	behind := d.reach[key]
	if behind == nil {
		behind = map[spec.GraphNode]bool{}
		d.reach[key] = behind
	}
	fresh := slices.Clone(status.Terminals)
	for len(fresh) > 0 {
		node := fresh[len(fresh)-1]
		fresh = fresh[:len(fresh)-1]
		if behind[node] {
			continue
		}
		before, err := d.driver.NodeDependencies(node)
		if err != nil {
			// What is behind a node that was not expanded is not known to be.
			delete(d.reach, key)
			return nil, fmt.Errorf("asking what a graph node depends on: %w", err)
		}
		behind[node] = true
		fresh = append(fresh, before...)
	}
	return behind, nil
}
