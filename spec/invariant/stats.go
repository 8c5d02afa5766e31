package invariant

import "gaugeblock/spec"

// examineFigures checks the statistics of each device by themselves.
func examineFigures(o *Observation, r *violationReport) {
	for i := range o.Stats {
		f := statCheck{device: spec.Device(i), report: r}
		f.keepsSums = o.History != nil && !o.History.sumsReset[f.device]
		f.check(&o.Stats[i])
	}
}

// statCheck is invariant 9: how the statistics of a device agree with each other, without
// a look at its memory.
type statCheck struct {
	device spec.Device
	report *violationReport

	// keepsSums: it is known that the accumulated statistics were never reset. When
	// they were, current - (allocated - freed) is what current was at that time:
	// not known, but not negative.
	keepsSums bool
}

func (f *statCheck) check(s *spec.DeviceStats) {
	for _, a := range s.Arrays() {
		for t := range spec.NumStatTypes {
			f.checkStat(a.Name, t, &a.Array[t])
		}
		f.checkAggregate(a.Name, a.Array)
	}
	for t := range spec.NumStatTypes {
		f.atMost("allocation", s.Allocation[t].Current, "active", s.Active[t].Current, t)
		f.atMost("allocated_bytes", s.AllocatedBytes[t].Current, "active_bytes", s.ActiveBytes[t].Current, t)
		f.atMost("requested_bytes", s.RequestedBytes[t].Current, "active_bytes", s.ActiveBytes[t].Current, t)
		f.atMost("active_bytes", s.ActiveBytes[t].Current, "reserved_bytes", s.ReservedBytes[t].Current, t)
	}
	f.checkOversize(s)
	f.checkCounters(s)
}

// fail records a violation.
func (f *statCheck) fail(format string, args ...any) {
	f.report.add(figuresOverTimeAddUp, f.device, 0, format, args...)
}

// checkStat looks at one statistic of one kind of pool.
func (f *statCheck) checkStat(name string, t spec.StatType, s *spec.Stat) {
	if s.Current < 0 || s.Allocated < 0 || s.Freed < 0 {
		f.fail("%s.%v is negative: current %d, allocated %d, freed %d", name, t, s.Current, s.Allocated, s.Freed)
	}
	if s.Peak < s.Current {
		f.fail("%s.%v.peak is %d, below the current %d", name, t, s.Peak, s.Current)
	}
	if before := s.Current - (s.Allocated - s.Freed); before < 0 || f.keepsSums && before != 0 {
		f.fail("%s.%v: allocated %d - freed %d is not current %d", name, t, s.Allocated, s.Freed, s.Current)
	}
}

// checkAggregate compares the statistic over all pools with those over small and
// large ones. Peaks need not have been at the same time.
func (f *statCheck) checkAggregate(name string, a *spec.StatArray) {
	all, small, large := &a[spec.Aggregate], &a[spec.StatSmallPool], &a[spec.StatLargePool]
	f.sum(name, "current", all.Current, small.Current, large.Current)
	f.sum(name, "allocated", all.Allocated, small.Allocated, large.Allocated)
	f.sum(name, "freed", all.Freed, small.Freed, large.Freed)
	if all.Peak < max(small.Peak, large.Peak) || all.Peak > small.Peak+large.Peak {
		f.fail("%s.all.peak is %d, which peaks of %d in small and %d in large pools rule out",
			name, all.Peak, small.Peak, large.Peak)
	}
}

func (f *statCheck) sum(name, part string, all, small, large int64) {
	if all != small+large {
		f.fail("%s.all.%s is %d, small pools have %d and large pools %d", name, part, all, small, large)
	}
}

// atMost: whatever the one counts the other counts too.
func (f *statCheck) atMost(name string, n int64, limitName string, limit int64, t spec.StatType) {
	if n > limit {
		f.fail("%s.%v is %d, above the %d of %s", name, t, n, limit, limitName)
	}
}

// checkOversize asks less of the two statistics that depend on max_split_size: an
// allocation may be oversize when it is freed and not have been when it was made.
func (f *statCheck) checkOversize(s *spec.DeviceStats) {
	for _, o := range s.Oversize() {
		if o.Stat.Peak < o.Stat.Current {
			f.fail("%s.peak is %d, below the current %d", o.Name, o.Stat.Peak, o.Stat.Current)
		}
		if f.keepsSums && o.Stat.Allocated-o.Stat.Freed != o.Stat.Current {
			f.fail("%s: allocated %d - freed %d is not current %d", o.Name, o.Stat.Allocated, o.Stat.Freed, o.Stat.Current)
		}
	}
}

// checkCounters looks at the plain counters. Each segment was one call of the
// driver at least, expandable ones were more.
func (f *statCheck) checkCounters(s *spec.DeviceStats) {
	for _, c := range s.Counters() {
		if *c.Value < 0 {
			f.fail("%s is %d", c.Name, *c.Value)
		}
	}
	if made := s.Segment[spec.Aggregate].Allocated; s.NumDeviceAlloc < made {
		f.fail("num_device_alloc is %d, but %d segments were obtained", s.NumDeviceAlloc, made)
	}
	if gone := s.Segment[spec.Aggregate].Freed; s.NumDeviceFree < gone {
		f.fail("num_device_free is %d, but %d segments were returned", s.NumDeviceFree, gone)
	}
}
