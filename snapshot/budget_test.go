package snapshot

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestConversionIsPaidFor: what a snapshot is converted to is counted as well, to the byte.
func TestConversionIsPaidFor(t *testing.T) {
	const blocks, entries = 7, 5
	text := `{"segments":[{"segment_type":"small","total_size":` + fmt.Sprint(512*blocks) + `,"blocks":[` +
		strings.TrimSuffix(strings.Repeat(`{"size":512,"state":"inactive"},`, blocks), ",") + `]}],"device_traces":[[` +
		strings.TrimSuffix(strings.Repeat(`{"action":"alloc","size":512},`, entries), ",") + `]]}`
	for _, missing := range []uint64{0, 1} {
		values := newPlain(newBudget(1 << 20))
		root, err := parse(&source{in: bufio.NewReader(strings.NewReader(text)), memory: values.memory}, values)
		if err != nil {
			t.Fatal(err)
		}
		values.memory.left = segmentBytes + blocks*blockBytes + entries*entryBytes - missing // the contexts are paid for already
		if _, err := convert(values, root); (err == nil) != (missing == 0) {
			t.Errorf("%d bytes too few: %v", missing, err)
		}
		if missing == 0 && values.memory.left != 0 {
			t.Errorf("%d bytes are left", values.memory.left)
		}
	}
}

// TestEveryLimit: a snapshot with a call stack is refused or read whole under each limit, whatever
// it is that cannot be paid for.
func TestEveryLimit(t *testing.T) {
	const text = `{"segments":[],"device_traces":[[{"action":"alloc","addr":512,"size":1,"stream":0,"frames":[{"filename":"a.py","name":"f","line":1}]}]]}`
	refused := 0
	for limit := uint64(0); ; limit++ {
		f, err := ReadLimited(strings.NewReader(text), "", limit)
		if err == nil {
			if got := f.DeviceTraces[0][0].Context; got == nil || len(got.Frames) != 1 || refused == 0 {
				t.Errorf("with %d bytes it has the call stack %v, and less was refused %d times", limit, got, refused)
			}
			return
		}
		if !strings.Contains(err.Error(), "--max-memory") {
			t.Fatalf("with %d bytes: %v", limit, err)
		}
		refused++
	}
}

// TestAnnotationsArePaidFor: so are annotations.
func TestAnnotationsArePaidFor(t *testing.T) {
	const text = `{"segments":[],"device_traces":[],"external_annotations":[{"device":0,"x":"y"}]}`
	for _, missing := range []uint64{0, 1} {
		values := newPlain(newBudget(1 << 20))
		root, err := parse(&source{in: bufio.NewReader(strings.NewReader(text)), memory: values.memory}, values)
		if err != nil {
			t.Fatal(err)
		}
		values.memory.left = annotationBytes + 4*fieldBytes - missing
		if _, err := convert(values, root); (err == nil) != (missing == 0) {
			t.Errorf("%d bytes too few: %v", missing, err)
		}
	}
}

// TestEmptyHistory: a block of PyTorch 2.0 may have a history without entries.
func TestEmptyHistory(t *testing.T) {
	const text = `{"segments":[{"segment_type":"small","total_size":512,"blocks":[{"size":512,"state":"active_allocated","history":[]}]}],"device_traces":[]}`
	f, err := ReadLimited(strings.NewReader(text), "", 1<<20)
	if err != nil || len(f.Segments) != 1 {
		t.Error(f, err)
	}
}

// TestEntryWithoutAction: a trace entry that does not say what it is about is refused as such.
func TestEntryWithoutAction(t *testing.T) {
	_, err := ReadLimited(strings.NewReader(`{"segments":[],"device_traces":[[{"size":1}]]}`), "", 1<<20)
	if err == nil || !strings.Contains(err.Error(), "a trace entry has no action") {
		t.Errorf("the error is %v", err)
	}
}

// TestLongNumber: a pickle may have a number of 64 bits, which takes nine bytes.
func TestLongNumber(t *testing.T) {
	const pickled = "80027d71002858080000007365676d656e747371015d7102580d0000006465766963655f74726163657371035d710458010000006e71058a0900000000000000800058010000006d71064afbffffff58010000006b71078a080000000000000040752e" // {"segments": [], "device_traces": [], "n": 2**63, "m": -5, "k": 2**62}
	data, err := hex.DecodeString(pickled)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLimited(bytes.NewReader(data), "", 1<<20); err != nil {
		t.Error(err)
	}
}

// TestStacksArePaidForOnce: a call stack and its frames take memory when they are first read, to
// the byte, and none when they are read again. What is equal, but another list or another dict,
// takes less.
func TestStacksArePaidForOnce(t *testing.T) {
	const frame, other = `{"filename":"a.py","line":1,"name":"f"}`, `{"filename":"b.py","line":2,"name":"g"}`
	const text = "[[" + frame + "," + other + "],[" + frame + "," + other + "],[" + other + "],[]]"
	const newFrame = 2*mapBytes + 2*frameBytes
	newStack := func(frames uint64) uint64 { return 2*mapBytes + frames*(4+pointerBytes) }
	tests := []struct {
		what  string
		list  int
		price uint64
		stack uint32
	}{
		{"two frames", 0, 2*newFrame + newStack(2), 1},
		{"the same list", 0, 0, 1},
		{"equal frames in another list", 1, 2*newFrame + mapBytes, 1},
		{"another stack of an equal frame", 2, newFrame + newStack(1), 2},
		{"no frames", 3, mapBytes, 0},
	}
	for most, last := range tests {
		for _, missing := range []uint64{0, 1} {
			values := newPlain(newBudget(1 << 20))
			root, err := parse(&source{in: bufio.NewReader(strings.NewReader(text)), memory: values.memory}, values)
			if err != nil {
				t.Fatal(err)
			}
			lists := values.lists.at(int(root.word)).items
			for _, test := range tests[:most] {
				if stack, ok := values.stackOf(lists[test.list]); !ok || stack != test.stack {
					t.Fatalf("%s: stack %d, %v", test.what, stack, ok)
				}
			}
			values.memory.left = max(last.price, missing) - missing
			stack, ok := values.stackOf(lists[last.list])
			if paid := missing == 0 || last.price == 0; ok != paid || (values.exhausted == nil) != paid || paid && (stack != last.stack || values.memory.left != 0) {
				t.Errorf("%s, with %d bytes too few: stack %d, %v, and %d bytes are left", last.what, missing, stack, ok, values.memory.left)
			}
			if len(values.stacks.frames) > 2 || len(values.stacks.stacks) > 3 {
				t.Errorf("%s: %d frames and %d stacks are kept", last.what, len(values.stacks.frames), len(values.stacks.stacks))
			}
		}
	}
}

// TestEqualStacksTakeMemoryOnce: a list of the same frames as one before takes no memory of its own,
// and what is added to one of them is not in the other.
func TestEqualStacksTakeMemoryOnce(t *testing.T) {
	const frames = 60
	frame := "}\x94(\x8c\x08filename\x8c\x04a.py\x8c\x04lineK\x01\x8c\x04name\x8c\x01fu"
	pickled := "\x80\x04](](" + frame + strings.Repeat("h\x00", frames-1) + "e](" + strings.Repeat("h\x00", frames) + "ee."
	values := newPlain(newBudget(1 << 20))
	root, err := parse(&source{in: bufio.NewReader(strings.NewReader(pickled)), memory: values.memory}, values)
	if err != nil {
		t.Fatal(err)
	}
	lists := values.lists.at(int(root.word)).items
	first, second := values.lists.at(int(lists[0].word)), values.lists.at(int(lists[1].word))
	if _, ok := values.stackOf(lists[0]); !ok {
		t.Fatal("the first is no stack")
	}
	left := values.memory.left
	if i, ok := values.stackOf(lists[1]); !ok || i != 1 || values.memory.left-left != frames*valueBytes-mapBytes || &first.items[0] != &second.items[0] {
		t.Errorf("stack %d, %v; %d bytes are given back", i, ok, values.memory.left-left)
	}
	for _, l := range lists {
		if err := values.extend(l, []value{l}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if first.items[frames] != lists[0] || second.items[frames] != lists[1] || len(first.items) != frames+1 {
		t.Error("they are one list")
	}
}

// TestFramesAreReadOnce: a frame that is in two lists is read, and paid for, once; what cannot be
// paid for is told with its place.
func TestFramesAreReadOnce(t *testing.T) {
	values := newPlain(newBudget(1 << 20))
	const text = ` [{"filename":"a.py","line":1,"name":"f"}]`
	root, err := parse(&source{in: bufio.NewReader(strings.NewReader(text)), memory: values.memory}, values)
	if err != nil {
		t.Fatal(err)
	}
	frame := values.lists.at(int(root.word)).items[0]
	if _, ok := values.stackOf(frame); ok {
		t.Error("a frame is read as a stack")
	}
	values.memory.left = 2*mapBytes + 2*frameBytes - 1
	var at *positionError
	if _, ok := values.frameOf(frame); ok || !errors.As(values.exhausted, &at) || at.offset != 2 {
		t.Errorf("a byte too few: %v, %+v", ok, at)
	}
	values.memory.left++
	if i, ok := values.frameOf(frame); i != 0 || !ok {
		t.Errorf("frame %d, %v", i, ok)
	}
	values.memory.left = 0
	if i, ok := values.frameOf(frame); i != 0 || !ok {
		t.Errorf("the second time frame %d, %v", i, ok)
	}
}

// TestEntriesAreForgotten: while entries are converted those before are given back, so that a
// large snapshot takes the memory for them once; an entry that is used again is refused.
func TestEntriesAreForgotten(t *testing.T) {
	const entries = 3 * chunkLength
	one := func(n int) string {
		return strings.TrimSuffix(strings.Repeat(`{"action":"alloc","size":512},`, n), ",")
	}
	values := newPlain(newBudget(1 << 30))
	root, err := parse(&source{in: bufio.NewReader(strings.NewReader(`{"segments":[],"device_traces":[[` + one(entries) + `]]}`)), memory: values.memory}, values)
	if err != nil {
		t.Fatal(err)
	}
	before := values.memory.left
	values.memory.left = (chunkLength + 1) * entryBytes
	f, err := convert(values, root)
	if err != nil || len(f.DeviceTraces[0]) != entries || before == 0 {
		t.Fatal(err)
	}
	pickled := "\x80\x04](}\x94(\x8c\x06action\x8c\x05allocu" + strings.Repeat("}(\x8c\x06action\x8c\x05allocu", chunkLength) + "h\x00e."
	values = newPlain(newBudget(1 << 30))
	if root, err = parse(&source{in: bufio.NewReader(strings.NewReader(pickled)), memory: values.memory}, values); err != nil {
		t.Fatal(err)
	}
	outer, err := values.newList([]value{root}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&converter{values, &File{}, nil}).deviceTraces(outer); err == nil || !strings.Contains(err.Error(), "two places") {
		t.Errorf("an entry that is used twice: %v", err)
	}
}
