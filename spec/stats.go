package spec

// The statistics of an allocator, as upstream keeps them (c10/core/CachingDeviceAllocator.h)
// and as torch.cuda.memory_stats prints them.
//
// The equations that tie them together, for each StatType, over the blocks and
// segments of a Snapshot taken at the same time:
//
//	allocation      = number of allocated blocks
//	active          = allocation + blocks freed but still used by a stream
//	segment         = number of segments that are not expandable
//	inactive_split  = free blocks that do not cover their segment (is_split), in such segments
//	X_bytes         = the sum of those blocks' sizes
//	reserved_bytes  = the sum of all segments' sizes
//	requested_bytes = the sum of the active blocks' requested sizes
//	allocated - freed = current, unless accumulated statistics were reset
//	aggregate       = small pool + large pool (current, allocated, freed)

// Stat is one statistic over time.
type Stat struct {
	Current   int64 // now
	Peak      int64 // the largest it has been since the last reset
	Allocated int64 // the sum of all increases
	Freed     int64 // the sum of all decreases
}

// Increase adds to the statistic.
func (s *Stat) Increase(amount int64) {
	s.Current += amount
	s.Peak = max(s.Peak, s.Current)
	s.Allocated += amount
}

// Decrease subtracts from the statistic.
func (s *Stat) Decrease(amount int64) {
	s.Current -= amount
	s.Freed += amount
}

// ResetPeak resets the peak to the current value.
func (s *Stat) ResetPeak() { s.Peak = s.Current }

// ResetAccumulated sets the accumulated values to zero.
func (s *Stat) ResetAccumulated() { s.Allocated, s.Freed = 0, 0 }

// PoolKind tells the two block pools of a pool apart: upstream's BlockPool.is_small,
// and the segment_type of its snapshots.
type PoolKind uint8

const (
	// SmallPool serves requests up to Geometry.SmallSize.
	SmallPool PoolKind = iota
	// LargePool serves the others.
	LargePool
)

// String is the name that PyTorch's snapshots use.
func (k PoolKind) String() string {
	if k == SmallPool {
		return "small"
	}
	return "large"
}

// StatType is the statistic that counts a pool of the kind.
func (k PoolKind) StatType() StatType { return StatSmallPool + StatType(k) }

// StatType says over which pools a statistic is taken.
type StatType int

const (
	// Aggregate is over all pools.
	Aggregate StatType = iota
	// StatSmallPool is over the pools that serve requests up to Geometry.SmallSize.
	StatSmallPool
	// StatLargePool is over the others.
	StatLargePool

	// NumStatTypes is how many there are.
	NumStatTypes
)

// statTypeNames are upstream's keys.
var statTypeNames = [NumStatTypes]string{"all", "small_pool", "large_pool"}

// String is the key that memory_stats uses.
func (t StatType) String() string { return statTypeNames[t] }

// StatArray is a statistic for each StatType.
type StatArray [NumStatTypes]Stat

// Increase adds to the statistic of the pools of a kind and to that of all pools.
func (a *StatArray) Increase(kind PoolKind, amount int64) {
	a[Aggregate].Increase(amount)
	a[kind.StatType()].Increase(amount)
}

// Decrease subtracts from the statistic of the pools of a kind and from that of
// all pools.
func (a *StatArray) Decrease(kind PoolKind, amount int64) {
	a[Aggregate].Decrease(amount)
	a[kind.StatType()].Decrease(amount)
}

// DeviceStats are a device's statistics. Counts are numbers of things, the names
// that end in Bytes are bytes.
type DeviceStats struct {
	Allocation    StatArray // allocated blocks
	Segment       StatArray // segments obtained from the driver, expandable ones left out
	Active        StatArray // allocated blocks, and freed blocks that a stream still uses
	InactiveSplit StatArray // free blocks that do not cover their segment, expandable ones left out

	AllocatedBytes     StatArray
	ReservedBytes      StatArray // reserved from the driver
	ActiveBytes        StatArray
	InactiveSplitBytes StatArray
	RequestedBytes     StatArray // the sum of the active blocks' requested sizes

	NumAllocRetries   int64 // attempts to obtain memory after the whole cache was released
	NumOOMs           int64 // requests that failed for lack of memory
	NumSyncAllStreams int64 // waits for all events before a release, also if there were none
	NumDeviceAlloc    int64 // driver allocations and mappings
	NumDeviceFree     int64 // driver frees and unmappings

	OversizeAllocations Stat // allocations of max_split_size and more
	OversizeSegments    Stat // segments of max_split_size and more, expandable ones left out

	MaxSplitSize int64 // bytes, as it was when the allocator was made; -1 = unlimited
}

// A NamedStatArray ties an array to the key that memory_stats uses for it.
type NamedStatArray struct {
	Name  string
	Array *StatArray
}

// Arrays lists the arrays in upstream's order.
func (s *DeviceStats) Arrays() [9]NamedStatArray {
	return [9]NamedStatArray{
		{"allocation", &s.Allocation},
		{"segment", &s.Segment},
		{"active", &s.Active},
		{"inactive_split", &s.InactiveSplit},
		{"allocated_bytes", &s.AllocatedBytes},
		{"reserved_bytes", &s.ReservedBytes},
		{"active_bytes", &s.ActiveBytes},
		{"inactive_split_bytes", &s.InactiveSplitBytes},
		{"requested_bytes", &s.RequestedBytes},
	}
}

// A NamedStat ties a statistic to the key that memory_stats uses for it.
type NamedStat struct {
	Name string
	Stat *Stat
}

// Oversize lists the statistics of oversize blocks and segments.
func (s *DeviceStats) Oversize() [2]NamedStat {
	return [2]NamedStat{
		{"oversize_allocations", &s.OversizeAllocations},
		{"oversize_segments", &s.OversizeSegments},
	}
}

// A NamedCounter ties a counter to the key that memory_stats uses for it.
type NamedCounter struct {
	Name  string
	Value *int64
}

// Counters lists the counters in upstream's order.
func (s *DeviceStats) Counters() [5]NamedCounter {
	return [5]NamedCounter{
		{"num_alloc_retries", &s.NumAllocRetries},
		{"num_ooms", &s.NumOOMs},
		{"num_sync_all_streams", &s.NumSyncAllStreams},
		{"num_device_alloc", &s.NumDeviceAlloc},
		{"num_device_free", &s.NumDeviceFree},
	}
}

// ResetPeak resets all peaks to the current values.
func (s *DeviceStats) ResetPeak() {
	s.eachValue((*Stat).ResetPeak)
}

// ResetAccumulated sets all accumulated values and counters to zero.
func (s *DeviceStats) ResetAccumulated() {
	s.eachValue((*Stat).ResetAccumulated)
	for _, c := range s.Counters() {
		*c.Value = 0
	}
}

// eachValue visits every statistic over time, in the order of eachStat, and makes no keys.
func (s *DeviceStats) eachValue(visit func(*Stat)) {
	for _, a := range s.Arrays() {
		for t := range a.Array {
			visit(&a.Array[t])
		}
	}
	for _, o := range s.Oversize() {
		visit(o.Stat)
	}
}

// eachStat visits every statistic over time, with the first part of its key, in
// upstream's order.
func (s *DeviceStats) eachStat(visit func(key string, stat *Stat)) {
	for _, a := range s.Arrays() {
		for t := range NumStatTypes {
			visit(a.Name+"."+t.String(), &a.Array[t])
		}
	}
	for _, o := range s.Oversize() {
		visit(o.Name, o.Stat)
	}
}

// statKeys are the keys that memory_stats gives the parts of each statistic over
// time, in the order of eachStat.
var statKeys = func() (keys [][4]string) {
	new(DeviceStats).eachStat(func(key string, _ *Stat) {
		keys = append(keys, [4]string{key + ".current", key + ".peak", key + ".allocated", key + ".freed"})
	})
	return keys
}()

// Each visits every statistic with the key that torch.cuda.memory_stats gives it
// ("allocated_bytes.all.current"), in a fixed order.
func (s *DeviceStats) Each(visit func(key string, value int64)) {
	next := 0
	part := func(stat *Stat) {
		keys := &statKeys[next]
		next++
		visit(keys[0], stat.Current)
		visit(keys[1], stat.Peak)
		visit(keys[2], stat.Allocated)
		visit(keys[3], stat.Freed)
	}
	s.eachValue(part)
	for _, c := range s.Counters() {
		visit(c.Name, *c.Value)
	}
	visit("max_split_size", s.MaxSplitSize)
}

// Map is all statistics by key, as torch.cuda.memory_stats returns them.
func (s *DeviceStats) Map() map[string]int64 {
	m := make(map[string]int64, 128)
	s.Each(func(key string, value int64) { m[key] = value })
	return m
}
