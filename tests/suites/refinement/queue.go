package refinement

import (
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// A queue is the work that was ever given to a stream: pieces that use memory, and
// complete in order. On the device a piece is a closed gate (fakegpu.GPU.Busy). It
// completes when the world opens it, or when the allocator waits for an event behind it;
// so what is left is asked of the device.
type workQueue struct {
	gpu    *fakegpu.GPU
	stream spec.Stream
	work   []spec.Range // every piece, from the first on
}

func (q *workQueue) launch(memory spec.Range) error {
	q.work = append(q.work, memory)
	return q.gpu.Busy(0, q.stream)
}

// passed is how many pieces have completed.
func (q *workQueue) completed() int { return len(q.work) - q.gpu.Gates(0, q.stream) }

// A recorder is the driver that the allocator has. It notes how much work was in a
// stream when an event was recorded there: what an event waits for is nothing that an
// allocator knows. And it says of the streams that are redirected that they are being
// captured, in the mode that forbids nothing; the device does not know of it, since what
// is captured does not run.
type recordingDriver struct {
	*fakegpu.GPU
	queues         map[spec.Stream]*workQueue
	launchedBefore map[spec.EventHandle]int // pieces that were given to the stream before
	routed         map[spec.PoolID]spec.Stream
}

// CaptureStatus implements spec.Driver.
func (r *recordingDriver) CaptureStatus(dev spec.Device, s spec.Stream) (spec.CaptureStatus, error) {
	for id, stream := range r.routed {
		if stream == s {
			return spec.CaptureStatus{State: spec.CaptureActive, ID: spec.CaptureID(id.Capture)}, nil
		}
	}
	return r.GPU.CaptureStatus(dev, s)
}

// RecordEvent implements spec.Driver.
func (r *recordingDriver) RecordEvent(e spec.EventHandle, dev spec.Device, s spec.Stream) error {
	r.launchedBefore[e] = len(r.queues[s].work)
	return r.GPU.RecordEvent(e, dev, s)
}
