package trace

import (
	"io"
	"strings"
	"testing"

	"gaugeblock/spec"
)

// TestEveryShortText: all texts of two bytes are found, whatever bucket they are in.
func TestEveryShortText(t *testing.T) {
	var w wordSet
	for a := range 256 {
		for b := range 256 {
			text := string([]byte{byte(a), byte(b)})
			w.add(text)
			if got := w.text([]byte(text)); got != text {
				t.Fatalf("%q is read as %q", text, got)
			}
		}
	}
}

// TestLayoutHasNoContexts: a layout is what a trace records of a snapshot, which has no contexts.
func TestLayoutHasNoContexts(t *testing.T) {
	s := &spec.Snapshot{Segments: []spec.Segment{{Context: 1, Blocks: []spec.Block{{Size: 512, Context: 2}}}}}
	got := Layout(s)
	if got[0].Context != nil || got[0].Blocks[0].Context != nil || got[0].Blocks[0].Size != 512 {
		t.Errorf("%+v", got)
	}
	if s.Segments[0].Blocks[0].Context != 2 {
		t.Error("the snapshot has changed")
	}
}

// TestHeadersOfOtherFormats: the values of all fields are passed over, and a line that ends in one
// is no header.
func TestHeadersOfOtherFormats(t *testing.T) {
	const other = `{"a":null,"b":{"c":[true,false,-1.5e3,"x"]},"format":"memory-log","version":7}`
	if reason := sniffFormat([]byte(other)); reason != `the format is "memory-log", not "allocator-trace"` {
		t.Errorf("%s", reason)
	}
	for end := 1; end < len(other); end++ {
		if reason := sniffFormat([]byte(other[:end])); reason == "" || strings.HasPrefix(reason, "the format is") {
			t.Errorf("%s: %q", other[:end], reason)
		}
	}
}

// TestIsSnapshot: how files begin that are snapshots, and how others do.
func TestIsSnapshot(t *testing.T) {
	for text, want := range map[string]bool{
		"\x80\x02}": true, "\x80\x0f": true, "\x80\x10": false, "\x80": false, "": false, " ": false, "{": false,
		` {"segments": []}`: true, `[{"segment_type": "large"}]`: true, `{"format": "allocator-trace", "segments": 1}`: false, `{"a": 1}`: false, `"segments"`: false,
	} {
		if got := IsSnapshot([]byte(text)); got != want {
			t.Errorf("%q is a snapshot: %v", text, got)
		}
	}
}

// TestRangesInWords: the parts of allocations that work reads and writes.
func TestRangesInWords(t *testing.T) {
	op := &Op{Kind: OpKernel, Stream: 2, Reads: []OpRange{{ID: 1}, {ID: 2, Offset: 512}}, Writes: []OpRange{{ID: 3, Offset: 4, Bytes: 5}}}
	if got, want := op.InWords(), "kernel on stream 2, reads id 1 and id 2 from 512 on, writes 5 bytes from 4 of id 3"; got != want {
		t.Errorf("%q, want %q", got, want)
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

// TestOutputsAreInUse: outputs of graph trees count as allocations do.
func TestOutputsAreInUse(t *testing.T) {
	r := newReferences(&Header{Streams: []spec.Stream{0}, Devices: 1})
	r.limit = 3
	r.allocs[1], r.allocs[2] = allocLive, allocLive
	r.outputs[TreeOutput{}] = true
	if wrong := r.follow(&Op{Kind: OpEmptyCache}); wrong != "" {
		t.Error(wrong)
	}
	r.outputs[TreeOutput{1, 1}] = true
	if wrong := r.follow(&Op{Kind: OpEmptyCache}); !strings.HasPrefix(wrong, "more than 3 ") {
		t.Errorf("%q", wrong)
	}
}

// TestLentOnce: a callback frees an allocation once.
func TestLentOnce(t *testing.T) {
	r := newReferences(&Header{})
	r.allocs[1], r.allocs[2] = allocLive, allocLive
	if wrong := r.checkLent([]int64{1, 2}); wrong != "" {
		t.Error(wrong)
	}
	if wrong := r.checkLent([]int64{1, 2, 1}); wrong != "id 1 cannot be freed by the callback: it is not allocated" {
		t.Errorf("%q", wrong)
	}
}

// TestWriteErrorStays: after a write has failed every operation gets its error, a wrong one too.
func TestWriteErrorStays(t *testing.T) {
	w, err := NewWriter(io.Discard, Header{Streams: []spec.Stream{0}, TotalMemory: spec.GiB})
	if err != nil {
		t.Fatal(err)
	}
	w.err = io.ErrShortWrite
	for _, op := range []*Op{{Kind: OpEmptyCache}, {Kind: "none"}} {
		if err := w.Write(op); err != io.ErrShortWrite {
			t.Errorf("%s: %v", op.Kind, err)
		}
	}
}

// TestTables: a table with two members of one name, or more than a set of members has bits for, is
// a mistake of ours.
func TestTables(t *testing.T) {
	table := func(names ...string) (failure any) {
		defer func() { failure = recover() }()
		var members []jsonMember[int]
		for _, name := range names {
			members = append(members, wholeMember(name, func(n *int) *int { return n }))
		}
		newJSONTable("a test", members)
		return nil
	}
	var many []string
	for i := range 65 {
		many = append(many, strings.Repeat("a", i+1))
	}
	if failure := table(many[:64]...); failure != nil {
		t.Errorf("64 members: %v", failure)
	}
	for _, names := range [][]string{many, {"one", "two", "one"}} {
		if failure := table(names...); failure == nil {
			t.Errorf("%d members: no panic", len(names))
		}
	}
}

// TestOwnStream: threads have default streams of their own, on each device those that stand first
// behind the default stream; thread 0 has none, and nor have those that the header does not count.
func TestOwnStream(t *testing.T) {
	h := Header{Devices: 2, Threads: 2, Streams: []spec.Stream{0, 11, 12, 13, 21, 22, 23}}
	want := [2][4]int{{0, 1, 2, 0}, {0, 4, 5, 0}} // by device and thread
	for dev := range want {
		for thread, index := range want[dev] {
			if got := h.OwnStream(spec.Device(dev), spec.Thread(thread)); got != index {
				t.Errorf("device %d, thread %d: stream %d, want %d", dev, thread, got, index)
			}
		}
	}
	none := Header{Devices: 1, Streams: []spec.Stream{0, 11}}
	if got := none.OwnStream(0, 1); got != 0 {
		t.Errorf("where nothing depends on threads: stream %d", got)
	}
}
