package history

import (
	"strings"
	"testing"

	"gaugeblock/spec/trace"
)

// TestEveryKind: of each call of the allocator it is said what is made of it in a run
// under other settings.
func TestEveryKind(t *testing.T) {
	for _, kind := range trace.OpKinds() {
		k, listed := tracedKinds[kind]
		if asked := kind.Target() == trace.TargetAllocator; !listed && asked {
			t.Errorf("%s: snapshot/whatif does not say what is made of it", kind)
			continue
		} else if listed && !asked {
			t.Errorf("%s: snapshot/whatif has an entry that is never looked at", kind)
		}
		said := 0
		for _, way := range []bool{k.ask != nil || k.again, k.ignored != "", k.refused} {
			if way {
				said++
			}
		}
		if listed && said != 1 {
			t.Errorf("%s: snapshot/whatif says %d things of it, not one: ask or again, ignored or refused", kind, said)
		}
	}
}

// TestJoinedStreams: a request on another stream of a thread that captures may be one of the
// capture.
func TestJoinedStreams(t *testing.T) {
	const log = `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0,16,32]}
{"op":"pool_begin","pool":[1,0],"by":"capture","stream":1}
{"op":"malloc","id":1,"size":512,"stream":1,"addr":4194304,"events":[["segment_alloc",4194304,2097152,16],["alloc",4194304,512,16]]}
{"op":"malloc","id":2,"size":512,"stream":2,"addr":8388608,"events":[["segment_alloc",8388608,2097152,32],["alloc",8388608,512,32]]}
{"op":"malloc","id":4,"size":512,"stream":1,"addr":4194816,"events":[["alloc",4194816,512,16]]}
{"op":"malloc","id":5,"size":512,"stream":2,"thread":3,"addr":8389632,"events":[["alloc",8389632,512,32]]}
{"op":"pool_end","pool":[1,0]}
{"op":"malloc","id":3,"size":512,"stream":2,"addr":8389120,"events":[["alloc",8389120,512,32]]}
{"end":true}
`
	reader, err := trace.NewReader(strings.NewReader(log), "log")
	if err != nil {
		t.Fatal(err)
	}
	w, err := FromTrace(reader, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if w.Unrecorded.UnknownPools != 1 || w.Mallocs != 5 {
		t.Errorf("%d of %d requests may be of the capture", w.Unrecorded.UnknownPools, w.Mallocs)
	}
}
