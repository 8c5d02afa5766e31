package trace

import "fmt"

// Memory: allocating and freeing it, the cache, its limits and its settings.
const (
	OpMalloc             OpKind = "malloc"
	OpFree               OpKind = "free"
	OpFreeOn             OpKind = "free_on"
	OpRecordStream       OpKind = "record_stream"
	OpEmptyCache         OpKind = "empty_cache"
	OpSetMemoryFraction  OpKind = "set_memory_fraction"
	OpConfigure          OpKind = "configure"
	OpResetPeak          OpKind = "reset_peak_stats"
	OpResetAccumulated   OpKind = "reset_accumulated_stats"
	OpEnable             OpKind = "enable"
	OpNeedMemoryCallback OpKind = "need_memory_callback"
	OpResize             OpKind = "resize"
	OpSleep              OpKind = "sleep"
	OpWake               OpKind = "wake"
)

var memoryKinds = map[OpKind]kind{
	OpMalloc: {
		target: TargetAllocator, memory: MemoryAllocates, pluggable: true,
		v2: fields{"id size", "stream addr align"}, v1: &fields{"id size stream", "addr error message"},
		words: func(op *Op) string {
			aligned := ""
			if op.Align > 0 {
				aligned = fmt.Sprintf(" aligned to %d", op.Align)
			}
			return fmt.Sprintf("malloc %s%s on stream %d as id %d", SizeInWords(op.Size), aligned, op.Stream, op.ID)
		},
	},
	OpFree: {
		target: TargetAllocator, memory: MemoryFrees, pluggable: true,
		v2: fields{"id", ""}, v1: &fields{"id", ""},
		words: func(op *Op) string { return fmt.Sprintf("free id %d", op.ID) },
	},
	OpFreeOn: {
		target: TargetAllocator, memory: MemoryFrees,
		v2:    fields{"id", "stream"},
		words: func(op *Op) string { return fmt.Sprintf("free_on stream %d: id %d", op.Stream, op.ID) },
	},
	OpRecordStream: {
		target: TargetAllocator, memory: MemoryRecords, pluggable: true,
		v2: fields{"id", "stream"}, v1: &fields{"id stream", ""},
		words: func(op *Op) string { return fmt.Sprintf("record_stream id %d on stream %d", op.ID, op.Stream) },
	},
	OpEmptyCache: {
		target: TargetAllocator, memory: MemoryNone, pluggable: true,
		v2: fields{"", "pool"}, v1: &fields{"", ""},
		words: func(op *Op) string {
			if op.Pool.IsDefault() {
				return "empty_cache"
			}
			return fmt.Sprintf("empty_cache of pool %v", op.Pool)
		},
	},
	OpSetMemoryFraction: {
		target: TargetAllocator, memory: MemoryNone, pluggable: true,
		v2: fields{"fraction allowed", ""}, v1: &fields{"fraction allowed", ""},
		words: func(op *Op) string { return fmt.Sprintf("set_memory_fraction %v", op.Fraction) },
	},
	OpConfigure: {
		target: TargetAllocator, memory: MemoryNone,
		v2: fields{"settings", ""}, v1: &fields{"settings", ""},
		words: func(op *Op) string { return fmt.Sprintf("configure %q", op.Settings) },
	},
	OpResetPeak:        {target: TargetAllocator, memory: MemoryNone, pluggable: true, words: nameOnly},
	OpResetAccumulated: {target: TargetAllocator, memory: MemoryNone, words: nameOnly},
	OpEnable: {
		target: TargetAllocator, memory: MemoryNone,
		v2:    fields{"enabled", ""},
		words: func(op *Op) string { return fmt.Sprintf("enable %v", op.Enabled) },
	},
	OpNeedMemoryCallback: {
		target: TargetAllocator, memory: MemoryLends,
		v2:    fields{"frees", ""},
		words: func(op *Op) string { return fmt.Sprintf("need_memory_callback that frees %v", op.Frees) },
	},
	OpResize: {
		target: TargetAllocator, memory: MemoryResizes,
		v2:    fields{"id size", ""},
		words: func(op *Op) string { return fmt.Sprintf("resize id %d to %s", op.ID, SizeInWords(op.Size)) },
	},
	OpSleep: {target: TargetAllocator, memory: MemoryNone, words: nameOnly},
	OpWake:  {target: TargetAllocator, memory: MemoryNone, words: nameOnly},
}
