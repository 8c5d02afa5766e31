package torch

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// since says which driver calls were made since the mark.
func (s *stage) since(*words) error {
	for _, c := range s.gpu.Calls() {
		n := c.Count
		for _, before := range s.marked {
			if before.Call == c.Call {
				n -= before.Count
			}
		}
		if n > 0 && slices.Contains(spec.DriverCalls(), c.Call) {
			s.say("%s %d", c.Call, n)
		}
	}
	return nil
}

// finish gives everything back, as a program that goes on after an error would, and says the
// worst that it finds then (harms).
func (s *stage) finish(*words) error {
	before := s.refused
	s.giveBack()
	for _, p := range s.gpu.Hazards() {
		switch p.Kind {
		case fakegpu.Unordered, fakegpu.AllocatedTwice, fakegpu.Returned:
			s.say("memory used twice")
			return nil
		}
	}
	leaks := s.gpu.Leaks()
	leaked := func(kind string) bool {
		return slices.ContainsFunc(leaks, func(l string) bool { return strings.HasPrefix(l, kind) })
	}
	switch {
	case len(s.gpu.Violations()) > 0:
		s.say("memory not there")
	case leaked("memory") || leaked("page") || leaked("opened"):
		s.say("memory lost")
	case leaked("reserved"):
		s.say("addresses stay")
	case s.refused > before || before > 1:
		s.say("later calls fail")
	case !s.nothingCounted():
		s.say("wrong statistics")
	default:
		s.say("no harm")
	}
	return nil
}

// giveBack frees what is allocated, ends what is begun, and empties the cache.
func (s *stage) giveBack() {
	try := func(err error) {
		if err != nil {
			s.refused++
		}
	}
	for dev, streams := range s.streams {
		for _, stream := range streams {
			if status, err := s.gpu.CaptureStatus(spec.Device(dev), stream); err == nil && status.Status != spec.CaptureNone {
				_, _ = s.gpu.EndCapture(spec.Device(dev), stream) // it may be invalid
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.opened)) {
		try(s.opened[name].Close())
	}
	for _, p := range sortedPools(s.begun) {
		try(s.allocator.EndAllocateToPool(p.device, p.id))
	}
	for _, name := range slices.Sorted(maps.Keys(s.blocks)) {
		b := s.blocks[name]
		if b.freed {
			continue
		}
		s.gpu.EndLifetime(b.at)
		try(s.allocator.Free(b.at))
	}
	for _, p := range sortedPools(s.holds) {
		for range s.holds[p] {
			try(s.allocator.ReleasePool(p.device, p.id))
		}
	}
	s.gpu.DrainAll()
	for range 2 {
		p, err := s.allocator.Malloc(spec.Request{Bytes: 3 * spec.MiB})
		try(err)
		try(s.allocator.Free(p))
		try(s.allocator.EmptyCache())
	}
}

// nothingCounted reports whether the statistics say that there is nothing, which is so.
func (s *stage) nothingCounted() bool {
	for dev := range s.gpu.DeviceCount() {
		stats, err := s.allocator.Stats(spec.Device(dev))
		if err != nil {
			return false
		}
		for _, current := range []int64{
			stats.ReservedBytes[spec.Aggregate].Current, stats.AllocatedBytes[spec.Aggregate].Current,
			stats.ActiveBytes[spec.Aggregate].Current, stats.Segment[spec.Aggregate].Current,
		} {
			if current != 0 {
				return false
			}
		}
		made := int64(0)
		for _, c := range s.gpu.Calls() {
			if c.Call == "Free" || c.Call == "UnmapPage" {
				made += int64(c.Count)
			}
		}
		if stats.NumDeviceFree > made {
			return false
		}
	}
	return true
}

// sortedPools are the keys by device and id.
func sortedPools[V any](m map[poolOf]V) []poolOf {
	return slices.SortedFunc(maps.Keys(m), func(a, b poolOf) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.id.Capture, b.id.Capture), cmp.Compare(a.id.User, b.id.User))
	})
}
