//go:build cgo && linux

package cudaimpl

/*
#include "driver.h"

static CUresult event_create(CUcontext c, CUevent *e) { return IN(c, cu.EventCreate(e, EVENT_DISABLE_TIMING)); }
static CUresult event_record(CUcontext c, CUevent e, CUstream s) { return IN(c, cu.EventRecord(e, s)); }
static CUresult event_query(CUcontext c, CUevent e) { return IN(c, cu.EventQuery(e)); }
static CUresult event_synchronize(CUcontext c, CUevent e) { return IN(c, cu.EventSynchronize(e)); }
static CUresult event_destroy(CUcontext c, CUevent e) { return IN(c, cu.EventDestroy(e)); }
static CUresult stream_wait_event(CUcontext c, CUstream s, CUevent e) { return IN(c, cu.StreamWaitEvent(s, e, 0)); }
*/
import "C"

import "gaugeblock/spec"

// CreateEvent implements spec.Driver (cuEventCreate, without timing).
func (g *GPU) CreateEvent(dev spec.Device) (spec.EventHandle, error) {
	const method = "CreateEvent"
	context, err := g.context(method, dev)
	if err != nil {
		return 0, err
	}
	var e C.CUevent
	if err := check(method, "cuEventCreate", C.event_create(context, &e)); err != nil {
		return 0, err
	}
	g.ledger.add(kindEvent, uint64(e), entry{device: dev})
	return spec.EventHandle(e), nil
}

// eventContext is the context of an event's device.
func (g *GPU) eventContext(method string, ev spec.EventHandle) (C.CUcontext, error) {
	e, err := g.ledger.find(method, kindEvent, uint64(ev))
	if err != nil {
		return 0, err
	}
	return g.context(method, e.device)
}

// RecordEvent implements spec.Driver (cuEventRecord).
func (g *GPU) RecordEvent(ev spec.EventHandle, dev spec.Device, s spec.Stream) error {
	const method = "RecordEvent"
	e, err := g.ledger.find(method, kindEvent, uint64(ev))
	if err != nil {
		return err
	}
	context, err := g.context(method, dev)
	if err != nil {
		return err
	}
	if e.device != dev {
		return refuse(method, invalidHandle, "event %#x is of device %d, not %d", uint64(ev), e.device, dev)
	}
	return check(method, "cuEventRecord", C.event_record(context, C.CUevent(ev), C.CUstream(s)))
}

// QueryEvent implements spec.Driver (cuEventQuery).
func (g *GPU) QueryEvent(ev spec.EventHandle) (complete bool, err error) {
	const method = "QueryEvent"
	context, err := g.eventContext(method, ev)
	if err != nil {
		return false, err
	}
	r := C.event_query(context, C.CUevent(ev))
	if r == notReady {
		return false, nil
	}
	err = check(method, "cuEventQuery", r)
	return err == nil, err
}

// SynchronizeEvent implements spec.Driver (cuEventSynchronize).
func (g *GPU) SynchronizeEvent(ev spec.EventHandle) error {
	const method = "SynchronizeEvent"
	context, err := g.eventContext(method, ev)
	if err != nil {
		return err
	}
	return check(method, "cuEventSynchronize", C.event_synchronize(context, C.CUevent(ev)))
}

// DestroyEvent implements spec.Driver (cuEventDestroy).
func (g *GPU) DestroyEvent(ev spec.EventHandle) error {
	const method = "DestroyEvent"
	context, err := g.eventContext(method, ev)
	if err != nil {
		return err
	}
	if err := check(method, "cuEventDestroy", C.event_destroy(context, C.CUevent(ev))); err != nil {
		return err
	}
	g.ledger.drop(kindEvent, uint64(ev))
	return nil
}

// WaitEvent implements spec.Executor (cuStreamWaitEvent).
func (g *GPU) WaitEvent(dev spec.Device, s spec.Stream, ev spec.EventHandle) error {
	const method = "WaitEvent"
	if _, err := g.ledger.find(method, kindEvent, uint64(ev)); err != nil {
		return err
	}
	context, err := g.context(method, dev)
	if err != nil {
		return err
	}
	return check(method, "cuStreamWaitEvent", C.stream_wait_event(context, C.CUstream(s), C.CUevent(ev)))
}
