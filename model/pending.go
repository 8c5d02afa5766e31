package model

import "gaugeblock/spec"

// AtDriver is what distinguishes the mallocs that wait for the driver, in states with the
// same settings. It is a PendingMalloc without what follows from the settings.
type AtDriver struct {
	ID            int
	Stream        spec.Stream
	Pool          spec.PoolID
	RequestedSize uint64
	Attempt       int      // at a driver allocation, from 1
	Answered      bool     // the driver call has returned
	Granted       spec.Ptr // 0: none
}

// AtDriver describes a malloc that released the lock for its driver call.
func (c *PendingMalloc) AtDriver() AtDriver {
	return AtDriver{
		ID: c.ID, Stream: c.Stream, Pool: c.pool, RequestedSize: c.RequestedSize,
		Attempt: c.attempt, Answered: c.DriverAnswered(), Granted: c.granted,
	}
}

// PendingMallocAsking is a malloc whose callbacks run, in a state with these settings.
func (s *State) PendingMallocAsking(stream spec.Stream, bytes uint64) PendingMalloc {
	c := s.begin(0, stream, bytes)
	c.prepare(s)
	c.stage = stageSearchAgain
	return c
}

// PendingMallocAt is the malloc with a description, in a state with these settings.
func (s *State) PendingMallocAt(at AtDriver) PendingMalloc {
	c := s.begin(at.ID, at.Stream, at.RequestedSize)
	c.prepare(s)
	c.pool, c.attempt, c.granted = at.Pool, at.Attempt, at.Granted
	c.stage, c.releasesLock = stageDriverMalloc, true
	if at.Answered {
		c.stage = stageRegister
	}
	return c
}
