package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestEveryKind: each description is whole, and its parts agree with each other.
func TestEveryKind(t *testing.T) {
	for _, name := range OpKinds() {
		k := kinds[name]
		missing := func(format string, args ...any) {
			t.Errorf("%s: the description in spec/trace lacks or contradicts %s", name, fmt.Sprintf(format, args...))
		}
		if k.target == targetUnset {
			missing("the target")
		}
		if k.memory == memoryUnset {
			missing("the effect on allocations")
		}
		if k.words == nil {
			missing("the words")
		} else if words := (&Op{Kind: name}).InWords(); !strings.HasPrefix(words, string(name)) {
			missing("its name in its words, which are %q", words)
		}
		if k.pluggable && k.target != TargetAllocator {
			missing("pluggable: it is no call of the allocator")
		}
		own := strings.Fields(k.v2.must + " " + k.v2.may)
		for field, named := range map[string]bool{
			"id": slices.Contains([]MemoryEffect{
				MemoryAllocates, MemoryFrees, MemoryRecords, MemoryShares, MemoryOpens, MemoryCloses, MemoryResizes,
			}, k.memory),
			"reads":  k.memory == MemoryTouches || k.memory == MemoryCopies,
			"writes": k.memory == MemoryTouches || k.memory == MemoryCopies,
			"frees":  k.memory == MemoryLends,
			"live":   k.memory == MemoryRestores,
			"freed":  k.memory == MemoryRestores,
			"event":  k.event != numberNone,
			"state":  k.state != numberNone,
			"graph":  k.graph != numberNone,
			"handle": k.handle != numberNone,
		} {
			if named != slices.Contains(own, field) {
				missing("the field %q: has it %v, has an effect on what it names %v", field, !named, named)
			}
		}
	}
}

// TestUnknownKinds: what is no kind has no target and no effect.
func TestUnknownKinds(t *testing.T) {
	if k := OpKind("none"); k.Target() != targetUnset || k.Memory() != memoryUnset {
		t.Errorf("target %v, effect %v", k.Target(), k.Memory())
	}
	if OpMalloc.Memory() != MemoryAllocates {
		t.Error("malloc does not allocate")
	}
}
