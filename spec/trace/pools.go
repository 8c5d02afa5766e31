package trace

import "fmt"

// Private pools and their checkpoints.
const (
	OpPoolCreate  OpKind = "pool_create"
	OpPoolBegin   OpKind = "pool_begin"
	OpPoolEnd     OpKind = "pool_end"
	OpPoolRelease OpKind = "pool_release"
	OpPoolDelete  OpKind = "pool_delete"
	OpCheckpoint  OpKind = "checkpoint"
	OpRestore     OpKind = "restore"
)

var poolKinds = map[OpKind]kind{
	OpPoolCreate: {
		target: TargetAllocator, memory: MemoryNone,
		v2: fields{"pool", "use_on_oom no_split"}, v1: &fields{"pool", "use_on_oom no_split"}, words: ofPool,
	},
	OpPoolBegin: {
		target: TargetAllocator, memory: MemoryNone, pluggable: true,
		v2: fields{"pool by", "stream"}, v1: &fields{"pool by", "stream"},
		words: func(op *Op) string {
			switch op.By {
			case ByThread:
				return fmt.Sprintf("%s for thread %d", ofPool(op), op.Thread)
			case ByStream:
				return fmt.Sprintf("%s for stream %d", ofPool(op), op.Stream)
			case ByCapture:
				return fmt.Sprintf("%s for the capture of stream %d", ofPool(op), op.Stream)
			}
			return ofPool(op)
		},
	},
	OpPoolEnd: {
		target: TargetAllocator, memory: MemoryNone, pluggable: true,
		v2: fields{"pool", ""}, v1: &fields{"pool", ""}, words: ofPool,
	},
	OpPoolRelease: {
		target: TargetAllocator, memory: MemoryNone, pluggable: true,
		v2: fields{"pool", ""}, v1: &fields{"pool", ""}, words: ofPool,
	},
	OpPoolDelete: {
		target: TargetAllocator, memory: MemoryNone,
		v2: fields{"pool", ""}, v1: &fields{"pool", ""}, words: ofPool,
	},
	OpCheckpoint: {
		target: TargetAllocator, memory: MemoryNone, state: numberNew,
		v2: fields{"pool state", ""}, v1: &fields{"pool state", ""},
		words: func(op *Op) string { return fmt.Sprintf("checkpoint pool %v as state %d", op.Pool, op.State) },
	},
	OpRestore: {
		target: TargetAllocator, memory: MemoryRestores, state: numberUsed,
		v2: fields{"pool state live freed", ""}, v1: &fields{"pool state live freed", ""},
		words: func(op *Op) string { return fmt.Sprintf("restore pool %v to state %d", op.Pool, op.State) },
	},
}

func ofPool(op *Op) string { return fmt.Sprintf("%s %v", op.Kind, op.Pool) }
