package snapshot

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
)

// TestVersionsByKeys: which versions of PyTorch write a file that has some keys.
func TestVersionsByKeys(t *testing.T) {
	for _, test := range []struct {
		what, file string
		want       Version
	}{
		{"nothing", `"segments":[]`, Version{Most: Newest}},
		{"settings", `"segments":[],"allocator_settings":{}`, Version{Least: 1, Most: Newest}},
		{"a pool of segments", `"segments":[{"segment_type":"large","segment_pool_id":[0,0],"blocks":[]}]`, Version{Least: 1, Most: Newest}},
		{"divisions", `"segments":[],"allocator_settings":{"roundup_power2_divisions":{}}`, Version{Least: 1, Most: 8}},
		{"times", `"segments":[],"device_traces":[[{"action":"alloc","size":1,"time_us":1}]]`, Version{Least: 2, Most: 11}},
		{"a compile context", `"segments":[],"device_traces":[[{"action":"alloc","size":1,"compile_context":"x"}]]`, Version{Least: 8, Most: Newest}},
		{"metadata", `"segments":[],"device_traces":[[{"action":"alloc","size":1,"time_us":1,"user_metadata":""}]]`, Version{Least: 10, Most: 11}},
		{"a pool", `"segments":[],"device_traces":[[{"action":"alloc","size":1,"time_us":1,"pool_id":[0,0]}]]`, Version{Least: 12, Most: Newest}},
		{"an annotation", `"segments":[],"device_traces":[[{"action":"annotate","size":1}]]`, Version{Least: 14, Most: Newest}},
		{"the host", `"segments":[],"host_segments":[]`, Version{Least: 14, Most: Newest}},
		{"internal metadata", `"segments":[],"device_traces":[[{"action":"alloc","size":1,"internal_metadata":"x"}]]`, Version{Least: 15, Most: Newest}},
	} {
		if f, err := Read(strings.NewReader("{"+test.file+"}"), "x"); err != nil || f.Version != test.want {
			t.Errorf("%s: %+v, %v; want %+v", test.what, f, err, test.want)
		}
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
	config, unknown := readableSettings("later:1,max_split_size_mb:25,large_segment_size_mb:32,other:[1:2,3:4]", Version{Most: Newest}.Releases())
	if config.MaxSplitSize != 25*spec.MiB && !slices.Contains(unknown, "max_split_size_mb:25") || config.LargeSegmentSize != 32*spec.MiB {
		t.Errorf("%+v", config)
	}
	if slices.Sort(unknown); !slices.Contains(unknown, "later:1") || !slices.Contains(unknown, "other:[1:2,3:4]") || slices.Contains(unknown, "large_segment_size_mb:32") {
		t.Errorf("%q are unknown", unknown)
	}
	config, unknown = readableSettings("later:1,max_split_size_mb:128,garbage_collection_threshold:0.5", Version{Most: Newest}.Releases())
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
		{"a requested size of its own", `,"requested_size":100,"history":[{"addr":4096,"real_size":90,"frames":` + frame("last") + `}]`, "last"},
		{"frames of its own", `,"frames":` + frame("own") + `,"history":[{"addr":4096,"real_size":100,"frames":` + frame("last") + `}]`, "own"},
	} {
		f, err := Read(strings.NewReader(fmt.Sprintf(segment, test.more)), "x")
		if err != nil {
			t.Fatalf("%s: %v", test.what, err)
		}
		b := f.Segments[0].Blocks[0]
		if frames, _ := b.Context.(Frames); b.RequestedSize != 100 || len(frames) != 1 || frames[0].Name != test.frame || f.Version.Most != 0 {
			t.Errorf("%s: %+v, version %+v", test.what, b, f.Version)
		}
	}
	if _, err := Read(strings.NewReader(fmt.Sprintf(segment, `,"history":[7]`)), "x"); err == nil {
		t.Error("a history of numbers is read")
	}
}

// TestListsArePaidFor: a list or a dict takes memory for each of its items, and a trace entry that
// of an entry and of its context, if that is a new one.
func TestListsArePaidFor(t *testing.T) {
	const items = 100
	for _, test := range []struct {
		what  string
		price uint64
		make  func(p *plain, of value) error
	}{
		{"a list", sequenceBytes + items*valueBytes, func(p *plain, _ value) error {
			_, err := p.newList(make([]value, items), 0)
			return err
		}},
		{"items of a dict", sequenceBytes + items*valueBytes, func(p *plain, of value) error { return p.fill(of, make([]value, items), 0) }},
		{"a trace entry", entryBytes + contextBytes, func(p *plain, of value) error { return p.fill(of, []value{{text, 0}, {text, 1}}, 0) }},
	} {
		for _, missing := range []uint64{0, 1} {
			p := newPlain(newBudget(1 << 20))
			p.texts = []string{"action", "alloc"}
			dict, err := p.newDict(0)
			if err != nil {
				t.Fatal(err)
			}
			p.memory.left = test.price - missing
			if err := test.make(p, dict); (err == nil) != (missing == 0) || missing == 0 && p.memory.left != 0 {
				t.Errorf("%s, with %d bytes too few: %v, and %d bytes are left", test.what, missing, err, p.memory.left)
			}
		}
	}
}

// TestFilesOfTwoGiB: a file that is larger is refused, in whichever operation its last bytes are.
func TestFilesOfTwoGiB(t *testing.T) {
	for what, read := range map[string]func(s *source, n int) error{
		"bytes, one by one": func(s *source, n int) error {
			for range n {
				if _, err := s.byte(); err != nil {
					return err
				}
			}
			return nil
		},
		"a number": func(s *source, n int) error {
			_, err := s.littleEndian(n)
			return err
		},
		"a text": func(s *source, n int) error {
			_, err := s.bytes(uint64(n))
			return err
		},
		"what is skipped": func(s *source, n int) error { return s.skip(uint64(n)) },
	} {
		for n, fits := range map[int]bool{4: true, 5: false} {
			s := &source{in: bufio.NewReader(strings.NewReader("12345678")), offset: maxBytes - 4, memory: newBudget(1 << 20)}
			if err := read(s, n); (err == nil) != fits || err != nil && err.Error() != "the file is larger than 2147483647 bytes" {
				t.Errorf("%s: with %d bytes where 4 fit: %v", what, n, err)
			}
		}
	}
}

// TestAnnotationFields: a field of an annotation is any value but a list or a dict, as Python
// prints it.
func TestAnnotationFields(t *testing.T) {
	const text = `{"segments":[],"external_annotations":[{"device":1,"time_us":5,"a":null,"b":true,"c":false,"d":-30,"e":18446744073709551615,` +
		`"f":0.1,"g":"x","h":[1],"i":{"j":1},"k":2.0,"l":-1000000.0,"m":1e15,"n":1e16,"o":0.0001,"p":0.00001,"q":1.5e300,"r":0.0,"s":-2.5},{"device":"cuda:0","time_us":1.5}]}`
	f, err := Read(strings.NewReader(text), "x")
	if err != nil {
		t.Fatal(err)
	}
	want := [][]spec.AnnotationField{
		{
			{Key: "a", Value: "None"}, {Key: "b", Value: "True"}, {Key: "c", Value: "False"}, {Key: "d", Value: "-30"}, {Key: "e", Value: "18446744073709551615"},
			{Key: "f", Value: "0.1"}, {Key: "g", Value: "x"}, {Key: "k", Value: "2.0"}, {Key: "l", Value: "-1000000.0"}, {Key: "m", Value: "1000000000000000.0"},
			{Key: "n", Value: "1e+16"}, {Key: "o", Value: "0.0001"}, {Key: "p", Value: "1e-05"}, {Key: "q", Value: "1.5e+300"}, {Key: "r", Value: "0.0"}, {Key: "s", Value: "-2.5"},
		},
		{{Key: "device", Value: "cuda:0"}, {Key: "time_us", Value: "1.5"}},
	}
	for i, a := range f.ExternalAnnotations {
		if !slices.Equal(a.Fields, want[i]) || a.Device != spec.Device(1-i) || a.TimeNS != int64(5000*(1-i)) {
			t.Errorf("annotation %d: %+v", i, a)
		}
	}
	if a, b, c := pythonFloat(math.Inf(1)), pythonFloat(math.Inf(-1)), pythonFloat(math.NaN()); len(f.ExternalAnnotations) != 2 || a != "inf" || b != "-inf" || c != "nan" {
		t.Errorf("%d annotations, %s, %s, %s", len(f.ExternalAnnotations), a, b, c)
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

// TestIntegersOfPickles: an integer has up to eight bytes, the lowest first, and its sign in the
// highest bit; one that is unsigned and has 64 bits takes a ninth byte.
func TestIntegersOfPickles(t *testing.T) {
	for _, test := range []struct {
		pickle string
		want   value
	}{
		{"\x8a\x00", value{integer, 0}},
		{"\x8a\x01\x05", value{integer, 5}},
		{"\x8a\x01\x80", signed(-128)},
		{"\x8a\x02\x80\x00", value{integer, 128}},
		{"\x8a\x03\xfe\xff\xff", signed(-2)},
		{"\x8a\x07\x00\x00\x00\x00\x00\x00\x80", signed(-1 << 55)},
		{"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", value{integer, math.MaxInt64}},
		{"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80", signed(math.MinInt64)},
		{"\x8a\x09\x01\x00\x00\x00\x00\x00\x00\x80\x00", value{unsigned, 1<<63 + 1}},
		{"\x8b\x02\x00\x00\x00\x34\x12", value{integer, 0x1234}},
		{"J\xfe\xff\xff\xff", signed(-2)},
		{"K\xff", value{integer, 255}},
		{"M\xff\xff", value{integer, 65535}},

		{"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\x00", value{}}, // eight bytes are enough
		{"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\xff", value{}}, // negative, and beyond 64 bits
		{"\x8a\x0a\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00", value{}},
	} {
		values := newPlain(newBudget(1 << 20))
		got, err := parse(&source{in: bufio.NewReader(strings.NewReader("\x80\x04" + test.pickle + ".")), memory: values.memory}, values)
		if got != test.want || (err != nil) != (test.want == value{}) {
			t.Errorf("%q is %+v, %v, not %+v", test.pickle, got, err, test.want)
		}
	}
}

func signed(n int64) value { return value{integer, uint64(n)} }

// TestLongTexts: a text of any length is read whole, takes memory once, and is not read beyond the
// end of the file.
func TestLongTexts(t *testing.T) {
	const number = "0123456789"
	for _, length := range []int{1, 4095, 4096, 4097, 8192, 10000} {
		want := strings.Repeat(number, 1+length/len(number))[:length]
		pickle := "\x80\x04X" + string([]byte{byte(length), byte(length >> 8), 0, 0}) + want
		values := newPlain(newBudget(1 << 20))
		before := values.memory.left
		got, err := parse(&source{in: bufio.NewReader(strings.NewReader(pickle + ".")), memory: values.memory}, values)
		if text, ok := values.string(got); err != nil || !ok || text != want {
			t.Errorf("%d bytes: %v, %v, %d bytes are read", length, err, ok, len(text))
		}
		if taken := before - values.memory.left; taken != uint64(length)+mapBytes+valueBytes {
			t.Errorf("%d bytes take %d bytes of memory", length, taken)
		}
		_, err = Read(strings.NewReader(pickle[:len(pickle)-1]), "x")
		if err == nil || !strings.Contains(err.Error(), "cut off") {
			t.Errorf("%d bytes, of which the last is not there: %v", length, err)
		}
	}
}

// TestSegmentFields: each field of a segment and of its blocks.
func TestSegmentFields(t *testing.T) {
	const frames = `[{"filename":"a.py","line":3,"name":"f"}]`
	const other = `,{"device":0,"address":8192,"total_size":0,"segment_type":"small","blocks":[]}]`
	const text = `[{"device":1,"address":4096,"total_size":1536,"allocated_size":512,"active_size":1024,"requested_size":700,"stream":7,` +
		`"segment_type":"large","segment_pool_id":[2,3],"is_expandable":true,"frames":` + frames + `,"blocks":[` +
		`{"address":4096,"size":512,"requested_size":400,"state":"active_allocated","frames":` + frames + `},` +
		`{"size":512,"requested_size":300,"state":"active_pending_free"},{"size":512,"state":"inactive"}]}` + other
	f, err := Read(strings.NewReader(text), "x")
	if err != nil {
		t.Fatal(err)
	}
	stack := Frames{{Filename: "a.py", Line: 3, Name: "f"}}
	want := []spec.Segment{
		{Address: 8192, Blocks: []spec.Block{}},
		{
			Device: 1, Address: 4096, TotalSize: 1536, AllocatedSize: 512, ActiveSize: 1024, RequestedSize: 700, Stream: 7,
			Pool: spec.PoolID{Capture: 2, User: 3}, PoolKind: spec.LargePool, Expandable: true, Context: stack,
			Blocks: []spec.Block{
				{Address: 4096, Size: 512, RequestedSize: 400, State: spec.ActiveAllocated, Context: stack},
				{Address: 4608, Size: 512, RequestedSize: 300, State: spec.ActivePendingFree},
				{Address: 5120, Size: 512, State: spec.Inactive},
			},
		},
	}
	if diff := cmp.Diff(want, f.Segments); diff != "" {
		t.Error(diff)
	}
	if f.Version.Least != 1 { // the first to write the pools of segments
		t.Errorf("the version is %+v", f.Version)
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

// TestBackwardFrames: without a Python frame the name of the backward function is shown, not
// the one that began the thread.
func TestBackwardFrames(t *testing.T) {
	stack := Frames{{Filename: "??", Name: "c10::cuda::malloc"}, {Filename: "??", Name: "torch::autograd::generated::AddmmBackward0::apply(int)"}, {Filename: "thread.cc", Name: "execute_native_thread_routine"}}
	if i := stack.ProgramIndex(); i != 1 {
		t.Errorf("frame %d is shown", i)
	}
}
