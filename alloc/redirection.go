package alloc

import (
	"slices"

	"gaugeblock/spec"
)

// A redirection diverts the requests that its filter accepts to a private pool.
// Graph captures use it, and programs that want a pool of their own.
type redirection struct {
	pool   *pool
	accept spec.RequestFilter
}

// redirecting reports whether requests are being diverted. Upstream takes that as
// a sign that a stream may be being captured, and so do we: the driver is then not
// asked about events, and what other streams used is put off when it is freed.
func (d *device) redirecting() bool { return len(d.redirections) > 0 }

// choosePool is the pool that a request goes to: that of the last redirection that
// accepts it, else the default pool.
func (d *device) choosePool(w *want) *pool {
	for _, r := range slices.Backward(d.redirections) {
		if r.accept(spec.Request{Device: d.id, Stream: w.stream, Bytes: w.requested, Thread: w.thread}) {
			return r.pool
		}
	}
	return d.pool
}

// noteCapture remembers that a graph under capture will know addresses of a private
// pool: those are kept for it as long as the pool is in use.
func (d *device) noteCapture(p *pool, w *want) error {
	if p == d.pool || p.captured {
		return nil
	}
	status, err := d.captureStatus(d.id, w.stream)
	p.captured = err == nil && status.State != spec.CaptureNone
	return err
}

// BeginAllocateToPool diverts requests to a pool; see spec.PrivatePools.
func (a *Allocator) BeginAllocateToPool(dev spec.Device, id spec.PoolID, filter spec.RequestFilter) error {
	const op = "begin_allocate_to_pool"
	if filter == nil {
		return &spec.InvalidArgumentError{Op: op, Reason: "there is no filter"}
	}
	return a.onDevice(op, dev, func(d *device) error {
		if d.redirectionTo(id) >= 0 {
			return &spec.InvalidStateError{Op: op, Reason: "requests are already being diverted to pool " + id.String()}
		}
		p, err := d.createPool(op, id, spec.PoolOptions{})
		if err != nil {
			return err
		}
		d.redirections = append(d.redirections, redirection{p, filter})
		return nil
	})
}

// EndAllocateToPool ends what BeginAllocateToPool began.
func (a *Allocator) EndAllocateToPool(dev spec.Device, id spec.PoolID) error {
	const op = "end_allocate_to_pool"
	return a.onDevice(op, dev, func(d *device) error {
		at := d.redirectionTo(id)
		if at < 0 {
			return &spec.InvalidStateError{Op: op, Reason: "no requests are being diverted to pool " + id.String()}
		}
		d.redirections = slices.Delete(d.redirections, at, at+1)
		if !d.redirecting() {
			d.reach = nil
		}
		return nil
	})
}

// redirectionTo is the place of the redirection to a pool, or -1.
func (d *device) redirectionTo(id spec.PoolID) int {
	return slices.IndexFunc(d.redirections, func(r redirection) bool { return r.pool.id == id })
}
