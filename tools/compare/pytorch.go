package compare

import (
	"gaugeblock/internal/memlimit"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
)

// performPyTorch makes the requests of the reference, as "gaugeblock whatif" does: with its private
// pools, and with frees that complete when they did in the recorded run.
func (c *Candidate) performPyTorch(w *history.Workload, limit uint64, memory *memlimit.Budget) (Result, error) {
	r := Result{Allocator: c.Name}
	g := &gauge{requests: len(w.Requests)}
	o := c.conditions(w, limit)
	o.Watch, o.Memory = g.add, memory
	out, err := play.Run(w, o)
	if err != nil {
		return r, err
	}
	g.into(&r)
	r.DriverCalls, r.Retries = out.AtEnd.DeviceAllocs+out.AtEnd.DeviceFrees, &out.AtEnd.Retries
	r.Failed = int(out.AtEnd.OOMs)
	if f := out.FirstOOM; f != nil {
		r.OutOfMemory = &Failure{Number: f.Number, Requested: f.Requested, Held: f.Reserved}
	}
	return r, nil
}

// conditions are those of a run under a limit; 0: none.
func (c *Candidate) conditions(w *history.Workload, limit uint64) play.RunOptions {
	o := play.RunOptions{
		Settings: w.Settings, Assumptions: play.MeasuredDriver,
		Reading: w.GivenReadings(history.Limits{Device: limit})[0],
	}
	if c.settings != nil {
		o.Settings = *c.settings
	}
	if c.release != nil {
		o.Assumptions = play.MeasuredDriver.On(c.release.Name)
	}
	return o
}
