package refinement

import (
	"gaugeblock/fakegpu"
	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// A workQueue is the work that was ever launched in a stream: pieces that use memory, and
// complete in order. On the device a piece is a closed gate (fakegpu.GPU.Busy). It completes
// when the system opens the gate, or when the allocator waits for a later event. So the
// number of pending pieces is read from the device.
type workQueue struct {
	gpu    *fakegpu.GPU
	stream spec.Stream
	work   []spec.Range // every piece, from the first on
}

func (q *workQueue) launch(memory spec.Range) error {
	q.work = append(q.work, memory)
	return q.gpu.Busy(0, q.stream)
}

// completed is how many pieces have completed.
func (q *workQueue) completed() int { return len(q.work) - q.gpu.Gates(0, q.stream) }

// A recordingDriver is the allocator's driver. It records how much work was launched in a
// stream before an event, which an allocator does not know.
type recordingDriver struct {
	*RoutedGPU
	queues         map[spec.Stream]*workQueue
	launchedBefore map[spec.EventHandle]int // pieces launched in the stream before the event
	events         int                      // that were created and not destroyed

	record *bounded.State // of which the Truth is used
	stream spec.Stream    // of the malloc

	mapped   map[spec.Ptr]mappedPage
	unmapped map[spec.PageHandle]spec.Stream // pages that are not mapped any more: the owner

	fault *fault // that is planned for the present operation
	after map[callAfter]int

	calls        *Calls
	releasesLock bool // a malloc, around its driver call
}

// CaptureStatus implements spec.Driver.
func (r *recordingDriver) CaptureStatus(dev spec.Device, s spec.Stream) (spec.CaptureInfo, error) {
	r.about("CaptureStatus")
	return r.RoutedGPU.CaptureStatus(dev, s)
}

// RecordEvent implements spec.Driver.
func (r *recordingDriver) RecordEvent(e spec.EventHandle, dev spec.Device, s spec.Stream) error {
	r.about("RecordEvent")
	if q := r.queues[s]; q != nil { // an allocator that is broken on purpose records one in another
		r.launchedBefore[e] = len(q.work)
	}
	err := r.GPU.RecordEvent(e, dev, s)
	if err == nil {
		r.called(model.RecordEvent, inCapture(r.record))
	}
	return err
}
