package snapshot

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gaugeblock/spec"
)

// TestVersionsByKeys: which versions of PyTorch write a file that has some keys.
func TestVersionsByKeys(t *testing.T) {
	for _, test := range []struct {
		what string
		seen seenKeys
		want Version
	}{
		{"nothing", seenKeys{}, Version{Most: Newest}},
		{"the history of blocks", seenKeys{blockHistory: true}, Version{Most: 0}},
		{"pools of segments", seenKeys{segmentPools: true}, Version{Least: 1, Most: Newest}},
		{"settings", seenKeys{settings: true}, Version{Least: 1, Most: Newest}},
		{"times", seenKeys{times: true}, Version{Least: 2, Most: Newest}},
		{"compile contexts", seenKeys{compileContexts: true, times: true}, Version{Least: 8, Most: Newest}},
		{"divisions", seenKeys{settings: true, divisions: true}, Version{Least: 1, Most: 8}},
		{"reuse in captures", seenKeys{settings: true, divisions: true, captureReuse: true}, Version{Least: 9, Most: Newest}},
		{"metadata", seenKeys{userMetadata: true}, Version{Least: 10, Most: Newest}},
		{"pools of entries", seenKeys{entryPools: true}, Version{Least: 12, Most: Newest}},
		{"what no version writes", seenKeys{blockHistory: true, times: true}, Version{Most: Newest}},
	} {
		if got := test.seen.version(); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.what, got, test.want)
		}
	}
	f, err := Read(strings.NewReader(`{"segments":[],"allocator_settings":{},"device_traces":[[{"action":"alloc","size":1,"compile_context":"x"}]]}`), "x")
	if err != nil || f.Version.Least != 8 {
		t.Errorf("a compile context: %+v, %v", f, err)
	}
	f, err = Read(strings.NewReader(`{"segments":[],"allocator_settings":{}}`), "x")
	if err != nil || f.Version.Least != 1 {
		t.Errorf("settings: %+v, %v", f, err)
	}
}

// TestManyUnknownActions: twenty names are kept, and further ones are counted together.
func TestManyUnknownActions(t *testing.T) {
	p := &plain{}
	for i := range 30 {
		if got := p.unknownAction(fmt.Sprint("n", i)); got != min(i, 20) {
			t.Errorf("name %d has the index %d", i, got)
		}
	}
	if n := len(p.unknownActions); n != 21 || p.unknownActions[0] != "n0" || p.unknownActions[20] != "others" {
		t.Errorf("%q", p.unknownActions)
	}
	if got := p.unknownAction("n3"); got != 3 {
		t.Errorf("a name that is known has the index %d", got)
	}
	f, err := Read(strings.NewReader(`{"segments":[],"device_traces":[[{"action":"x","size":1},{"action":"x","size":1}],[{"action":"y","size":1}],[]]}`), "x")
	if err != nil {
		t.Fatal(err)
	}
	want := [][]UnknownAction{{{"x", 2}}, {{"y", 1}}, {}}
	for device, unknown := range f.UnknownActions {
		if !slices.Equal(unknown, want[device]) {
			t.Errorf("device %d: %+v", device, unknown)
		}
	}
}

// TestPythonFrames: frames of C++ are told from those of Python by their files and names.
func TestPythonFrames(t *testing.T) {
	for frame, want := range map[Frame]bool{
		{Filename: "a.py", Name: "f(x)"}: true, {Filename: "a.pyx"}: true, {Filename: "<stdin>"}: true, {Filename: "script", Name: "f"}: true,
		{Filename: "a.cpp", Name: "f"}: false, {Filename: "lib.so", Name: "f"}: false, {Filename: "??", Name: "f"}: false, {Name: "f"}: false,
		{Filename: "script", Name: "at::f"}: false, {Filename: "libc.so.6", Name: "f"}: false, {Filename: "script", Name: "f(int)"}: false,
	} {
		if got := frame.IsPython(); got != want {
			t.Errorf("%+v is of Python: %v", frame, got)
		}
	}
}

// TestNumbers: values as numbers.
func TestNumbers(t *testing.T) {
	minus := int64(-2)
	for v, want := range map[value]float64{{unsigned, 1 << 63}: 1 << 63, {integer, uint64(minus)}: -2, {float, 0x3ff8000000000000}: 1.5} {
		if got, ok := v.number(); !ok || got != want {
			t.Errorf("%+v is %v, %v", v, got, ok)
		}
	}
	if _, ok := (value{text, 0}).number(); ok {
		t.Error("a text is a number")
	}
}

// TestReadableSettings: settings that cannot be read are told, and the others count.
func TestReadableSettings(t *testing.T) {
	config, unknown := readableSettings("later:1,max_split_size_mb:25,large_segment_size_mb:32,other:[1:2,3:4]")
	if config.MaxSplitSize != 25*spec.MiB && !slices.Contains(unknown, "max_split_size_mb:25") || config.LargeSegmentSize != 32*spec.MiB {
		t.Errorf("%+v", config)
	}
	if slices.Sort(unknown); !slices.Contains(unknown, "later:1") || !slices.Contains(unknown, "other:[1:2,3:4]") || slices.Contains(unknown, "large_segment_size_mb:32") {
		t.Errorf("%q are unknown", unknown)
	}
	config, unknown = readableSettings("later:1,max_split_size_mb:128,garbage_collection_threshold:0.5")
	if config.MaxSplitSize != 128*spec.MiB || config.GarbageCollectionThreshold != 0.5 || !slices.Equal(unknown, []string{"later:1"}) {
		t.Errorf("%+v, and %q are unknown", config, unknown)
	}
}

// TestBlockHistories: the latest allocation of a block tells its requested size and call stack.
func TestBlockHistories(t *testing.T) {
	const segment = `[{"device":0,"address":4096,"total_size":2097152,"stream":0,"segment_type":"small","blocks":[{"size":2097152,"state":"active_allocated"%s}]}]`
	frame := func(name string) string { return `[{"filename":"a.py","line":1,"name":"` + name + `"}]` }
	for _, test := range []struct{ what, more, frame string }{
		{"a history", `,"history":[{"addr":4096,"real_size":100,"frames":` + frame("last") + `},{"addr":4096,"real_size":50,"frames":` + frame("first") + `}]`, "last"},
		{"frames of its own", `,"frames":` + frame("own") + `,"history":[{"addr":4096,"real_size":100,"frames":` + frame("last") + `}]`, "own"},
	} {
		f, err := Read(strings.NewReader(fmt.Sprintf(segment, test.more)), "x")
		if err != nil {
			t.Fatalf("%s: %v", test.what, err)
		}
		b := f.Segments[0].Blocks[0]
		if frames, _ := b.Context.(Frames); b.RequestedSize != 100 || len(frames) != 1 || frames[0].Name != test.frame {
			t.Errorf("%s: %+v", test.what, b)
		}
	}
	if _, err := Read(strings.NewReader(fmt.Sprintf(segment, `,"history":[7]`)), "x"); err == nil {
		t.Error("a history of numbers is read")
	}
}

// TestListsArePaidFor: a list takes memory for each of its items.
func TestListsArePaidFor(t *testing.T) {
	const items = 100
	for _, missing := range []uint64{0, 1} {
		p := newPlain(newBudget(1 << 20))
		p.memory.left = sequenceBytes + items*valueBytes - missing
		if _, err := p.newList(make([]value, items), 0); (err == nil) != (missing == 0) {
			t.Errorf("%d bytes too few: %v", missing, err)
		}
	}
}

// TestFloatsOfPickles: eight bytes, the highest first.
func TestFloatsOfPickles(t *testing.T) {
	values := newPlain(newBudget(1 << 20))
	pickle := "\x80\x02G\x3f\xe8\x00\x00\x00\x00\x00\x00."
	root, err := parse(&source{in: bufio.NewReader(strings.NewReader(pickle)), memory: values.memory}, values)
	if n, ok := root.number(); err != nil || !ok || n != 0.75 {
		t.Errorf("%v, %v", n, err)
	}
}

// TestNumbersAreNoFrames: a number behind a frame is none, whatever the frame's own number is.
func TestNumbersAreNoFrames(t *testing.T) {
	for n := range 8 {
		text := fmt.Sprintf(`{"segments":[],"device_traces":[[{"action":"alloc","frames":[{"filename":"a.py","line":1,"name":"f"},%d]}]]}`, n)
		if _, err := Read(strings.NewReader(text), "x"); err == nil {
			t.Errorf("%d is read as a frame", n)
		}
	}
}
