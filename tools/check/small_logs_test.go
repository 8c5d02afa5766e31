package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

const csvHeader = "Thread,Time,Action,Pointer,Size,Stream\n"

// What small logs begin with, and what is told of many of them.
const (
	smallHeader = `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0,16,32]}` + "\n"
	noWork      = "hazards could not be looked for: no line says what work uses the memory"
	noDriver    = "the log has no driver calls, so every address counted as memory"
)

// smallLog is a log about one decision.
type smallLog struct {
	name, log string
	want      []string // violations by kind and text, notes
}

// checkSmallLogs: what is told of each log must be just what is wanted.
func checkSmallLogs(t *testing.T, logs []smallLog) {
	t.Helper()
	for _, test := range logs {
		t.Run(test.name, func(t *testing.T) {
			result, err := Reader(strings.NewReader(test.log), "log", Options{Races: true})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range result.Violations {
				got = append(got, string(v.Kind)+": "+v.Text)
			}
			got = append(got, result.Notes...)
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(test.want))) {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			if result.NoWork != slices.Contains(test.want, noWork) {
				t.Errorf("no work: %v", result.NoWork)
			}
		})
	}
}

// TestSmallLogs: each log is about one decision; the lines of what is told must be just these.
func TestSmallLogs(t *testing.T) {
	const header = smallHeader
	checkSmallLogs(t, []smallLog{
		{"cut off, with nothing allocated", header + `{"op":"kernel","stream":1}` + "\n",
			[]string{noWork, "the log has no end: it may have been cut off"}},
		{"no driver calls, and a wait for what is not recorded", csvHeader +
			"1,1,allocate,0x1000,512,0\n1,2,wait event,0x3,0,0x10\n1,3,free,0x1000,512,0\n",
			[]string{noWork, noDriver, "1 wait is for events that the log does not record: nothing is ordered by that"}},
		{"a free of null is nothing", csvHeader +
			"1,1,allocate,0x1000,512,0\n1,2,free,0x0,0,0\n1,3,free,0x1000,512,0\n",
			[]string{noWork, noDriver}},
		{"addresses are written as the first one is", csvHeader +
			"1,1,driver allocate,0xab0000,2097152,0\n1,2,allocate,0xab0000,512,0\n1,3,allocate,0xAC0000,512,0\n1,4,write,0xab0000,0,0\n",
			[]string{"leak: 512 bytes at 0xab0000 were allocated here and never freed", "leak: 512 bytes at 0xac0000 were allocated here and never freed"}},
		{"memory of no bytes has an address twice, and is freed twice", header +
			`{"op":"malloc","id":4096,"size":0,"addr":4096}` + "\n" + `{"op":"malloc","id":4096,"size":0,"addr":4096}` + "\n" + `{"op":"free","id":4096}` + "\n" + `{"op":"free","id":4096}` + "\n" +
			`{"op":"free","id":4096}` + "\n" + `{"end":true}` + "\n",
			[]string{"foreign free: id 4096 is not allocated, and was not before, as far as is remembered", noWork}},
		{"a stream that was destroyed is there again once it is used", csvHeader + "1,1,create stream,0,1,0x10\n1,2,destroy stream,0,0,0x10\n" +
			"1,3,driver allocate,0x1000000,2097152,0\n1,4,allocate,0x1000000,512,0x10\n1,5,write,0x1000000,0,0x10\n1,6,free,0x1000000,512,0x10\n",
			[]string{"device refuses: malloc: stream 0x10 (destroyed in line 3)", "the log has 2 streams, and no line makes one wait for another"}},
		{"waiting is no work", header +
			`{"op":"wait_stream","stream":1,"on":2}` + "\n" + `{"end":true}` + "\n",
			[]string{noWork}},
		{"a stream waits for another", header +
			`{"op":"malloc","id":1,"size":512,"stream":1,"addr":4096}` + "\n" + `{"op":"kernel","stream":1,"writes":[[1,0,0]]}` + "\n" +
			`{"op":"wait_stream","stream":2,"on":1}` + "\n" + `{"op":"kernel","stream":2,"reads":[[1,0,0]]}` + "\n" +
			`{"op":"wait_stream","stream":1,"on":2}` + "\n" + `{"op":"free","id":1}` + "\n" + `{"end":true}` + "\n",
			[]string{noDriver}},
		{"work on the rest of an allocation", header +
			`{"op":"malloc","id":1,"size":512,"addr":4096}` + "\n" + `{"op":"kernel","stream":0,"writes":[[1,256,0]]}` + "\n" + `{"op":"free","id":1}` + "\n" + `{"end":true}` + "\n",
			[]string{noDriver}},
		{"a stream that is not captured ends a capture", header +
			`{"op":"malloc","id":1,"size":512,"addr":4096}` + "\n" + `{"op":"kernel","stream":0,"writes":[[1,0,0]]}` + "\n" + `{"op":"free","id":1}` + "\n" +
			`{"op":"capture_begin","stream":1,"mode":"relaxed"}` + "\n" + `{"op":"wait_stream","stream":2,"on":1}` + "\n" + `{"op":"capture_end","stream":2,"graph":1}` + "\n" + `{"end":true}` + "\n",
			[]string{noDriver, "device refuses: capture_end: driver: EndCapture: cudaErrorStreamCaptureUnmatched (903): the capture began on stream 0x10, not on stream 0x20; the capture is invalidated"}},
		{"the launch of a graph is work", header +
			`{"op":"capture_begin","stream":1,"mode":"relaxed"}` + "\n" + `{"op":"capture_end","stream":1,"graph":1}` + "\n" +
			`{"op":"graph_launch","stream":1,"graph":1}` + "\n" + `{"end":true}` + "\n",
			nil},
		{"a copy of what is not allocated is no work", header +
			`{"op":"malloc","id":1,"size":512,"addr":4096}` + "\n" + `{"op":"copy","stream":0,"reads":[[7,0,0]],"writes":[[1,0,0]]}` + "\n" + `{"op":"free","id":1}` + "\n" + `{"end":true}` + "\n",
			[]string{"not allocated: work touches id 7, which is not allocated", noWork, noDriver}},
		{"who is told that an event is complete may use the memory", header +
			`{"op":"malloc","id":1,"size":512,"addr":4096}` + "\n" + `{"op":"busy","stream":1}` + "\n" +
			`{"op":"kernel","stream":1,"writes":[[1,0,0]]}` + "\n" + `{"op":"record_event","event":1,"stream":1}` + "\n" +
			`{"op":"query_event","event":1,"complete":true}` + "\n" + `{"op":"free","id":1}` + "\n" +
			`{"op":"malloc","id":2,"size":512,"addr":4096}` + "\n" + `{"op":"host_access","reads":[[2,0,0]]}` + "\n" + `{"op":"free","id":2}` + "\n" + `{"end":true}` + "\n",
			[]string{noDriver}},
		{"a number of opened memory is allocated with no bytes, and freed", header +
			`{"op":"malloc","id":1,"size":512,"addr":4096}` + "\n" + `{"op":"share","id":1,"handle":0}` + "\n" +
			`{"op":"open_shared","id":2,"handle":0}` + "\n" + `{"op":"malloc","id":2,"size":0}` + "\n" + `{"op":"free","id":2}` + "\n" +
			`{"op":"free","id":1}` + "\n" + `{"end":true}` + "\n",
			[]string{noWork, noDriver}},
	})
}

// TestSmallLogsOfMemory: the same of logs in which memory is used that the allocator, or the
// driver, did not give.
func TestSmallLogsOfMemory(t *testing.T) {
	const header = smallHeader
	checkSmallLogs(t, []smallLog{
		{"parts of an allocation", header +
			`{"op":"malloc","id":1,"size":512,"addr":4096}` + "\n" + `{"op":"kernel","stream":0,"reads":[[1,256,256],[1,512,0],[1,0,512]]}` + "\n" +
			`{"op":"kernel","stream":0,"reads":[[1,256,257],[1,513,0],[1,600,8]]}` + "\n" + `{"op":"free","id":1}` + "\n" + `{"end":true}` + "\n",
			[]string{noDriver, "not allocated: work touches 257 bytes from byte 256 of 0x1000 on, which has 512 (allocated in line 2)",
				"not allocated: work touches 0 bytes from byte 513 of 0x1000 on, which has 512 (allocated in line 2)", "not allocated: work touches 8 bytes from byte 600 of 0x1000 on, which has 512 (allocated in line 2)"}},
		{"work on what was freed, and frees of what is not allocated", header +
			`{"op":"malloc","id":1,"size":512,"addr":4096}` + "\n" + `{"op":"free","id":1}` + "\n" + `{"op":"kernel","stream":0,"reads":[[1,0,0]]}` + "\n" +
			`{"op":"free","id":1}` + "\n" + `{"op":"free","id":7}` + "\n" + `{"end":true}` + "\n",
			[]string{noDriver, "not allocated: work touches 0x1000 (512 bytes, allocated in line 2), which was freed in line 3",
				"double free: 0x1000 (512 bytes, allocated in line 2) was freed before, in line 3", "foreign free: id 7 is not allocated, and was not before, as far as is remembered"}},
		{"memory below the first that a device has", csvHeader + "1,1,allocate,0x1ff,512,0\n1,2,free,0x1ff,512,0\n",
			[]string{"no memory: 512 bytes at 0x1ff were allocated, and the driver has not given all of that memory", noWork, noDriver}},
		{"the first memory", csvHeader + "1,1,allocate,0x200,512,0\n1,2,free,0x200,512,0\n", []string{noWork, noDriver}},
		{"work on memory that went back to the driver", csvHeader + "1,1,driver allocate,0x1000000,2097152,0\n1,2,allocate,0x1000000,512,0\n" +
			"1,3,driver free,0x1000000,2097152,0\n1,4,write,0x1000000,0,0\n1,5,read,0x1000000,0,0\n1,6,free,0x1000000,512,0\n",
			[]string{"returned: 512 bytes at 0x1000000, allocated in line 3, are still allocated, and 2097152 bytes from 0x1000000 on were returned to the driver",
				"no memory: write on stream 0 writes 512 bytes at 0x1000000: there is no memory", "no memory: read on stream 0 reads 512 bytes at 0x1000000: there is no memory"}},
		{"the default streams are not created", csvHeader + "1,1,create stream,0,1,0\n1,2,create stream,0,1,0x1\n1,3,create stream,0,1,0x2\n1,4,create stream,0,1,0x3\n",
			[]string{"device refuses: create_stream: the default stream is not created", "device refuses: create_stream: the default stream is not created", "device refuses: create_stream: the default stream is not created", noWork}},
		{"who uses memory has been told of it, also beyond its end", header +
			`{"op":"malloc","id":1,"size":512,"addr":4096}` + "\n" + `{"op":"kernel","stream":1,"writes":[[1,0,0]]}` + "\n" + `{"op":"synchronize","stream":1}` + "\n" +
			`{"op":"malloc","id":2,"size":512,"addr":8192}` + "\n" + `{"op":"host_access","thread":2,"reads":[[2,600,8]]}` + "\n" + `{"op":"host_access","thread":2,"reads":[[1,0,0]]}` + "\n" +
			`{"op":"free","id":1}` + "\n" + `{"op":"free","id":2}` + "\n" + `{"end":true}` + "\n",
			[]string{"not allocated: work touches 8 bytes from byte 600 of 0x2000 on, which has 512 (allocated in line 5)", noDriver}},
		{"a callback frees memory that the program then frees as well, once", header +
			`{"op":"malloc","id":1,"size":512,"addr":4194304,"events":[["segment_alloc",4194304,2097152,0],["alloc",4194304,512,0]]}` + "\n" + `{"op":"need_memory_callback","frees":[1]}` + "\n" +
			`{"op":"malloc","id":2,"size":512,"addr":4194304,"events":[["free_requested",4194304,512,0],["free_completed",4194304,512,0],["alloc",4194304,512,0]]}` + "\n" +
			`{"op":"free","id":1}` + "\n" + `{"op":"free","id":1}` + "\n" + `{"op":"free","id":2}` + "\n" + `{"end":true}` + "\n",
			[]string{"double free: 0x400000 (512 bytes, allocated in line 2) was freed before, in line 4", noWork}},
	})
}

// TestNullIsNoAddress: what names memory cannot name none.
func TestNullIsNoAddress(t *testing.T) {
	_, err := Reader(strings.NewReader(csvHeader+"1,1,write,0x0,0,0\n"), "log", Options{})
	if err == nil || !strings.Contains(err.Error(), "an address that is not null") {
		t.Error(err)
	}
}

// TestBeyondAddresses: no memory lies at 2^62 or above, or is as large. A handle may be any number.
func TestBeyondAddresses(t *testing.T) {
	const header = `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0,16,32]}` + "\n"
	malloc := func(at, bytes uint64) string {
		return header + fmt.Sprintf(`{"op":"malloc","id":1,"size":%d,"addr":%d}`, bytes, at) + "\n" + `{"end":true}` + "\n"
	}
	for _, test := range []struct{ log, refusal string }{
		{malloc(addressSpace-512, 512), ""},
		{malloc(addressSpace, 512), "512 bytes at 0x4000000000000000 are more than there are addresses"},
		{malloc(512, addressSpace), "4611686018427387904 bytes at 0x200 are more than there are addresses"},
		{csvHeader + "1,1,allocate,0x3ffffffffffffe00,512,0xffffffffffffffff\n", ""},
		{csvHeader + "1,1,allocate,0x4000000000000000,512,0\n", "an address"},
		{header + `{"op":"malloc","id":1,"size":512,"addr":4096,"events":[["segment_alloc",4611686018427387904,2097152,0]]}` + "\n" + `{"end":true}` + "\n", "2097152 bytes at 0x4000000000000000 are more than there are addresses"},
		{header + `{"op":"malloc","id":1,"size":512,"addr":4096,"events":[["segment_map",4194304,4611686018427387904,0]]}` + "\n" + `{"end":true}` + "\n", "4611686018427387904 bytes at 0x400000 are more than there are addresses"},
	} {
		_, err := Reader(strings.NewReader(test.log), "log", Options{})
		if (err != nil) != (test.refusal != "") || err != nil && !strings.Contains(err.Error(), test.refusal) {
			t.Errorf("%s: %v", test.log, err)
		}
	}
}

// TestFreeMemoryOverlaps compares what is left of freed memory with sets of bytes.
func TestFreeMemoryOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, lines := newFreeMemory(), map[spec.Ptr]int{} // the free of each byte
		for line := range rapid.IntRange(1, 12).Draw(t, "steps") {
			r := spec.Range{Ptr: spec.Ptr(rapid.IntRange(1, 30).Draw(t, "from")), Bytes: uint64(rapid.IntRange(1, 12).Draw(t, "bytes"))}
			a := &allocation{ptr: r.Ptr, bytes: r.Bytes, on: &given{}, freed: line + 1}
			takes := rapid.Bool().Draw(t, "takes")
			if takes {
				m.allocated(a)
			} else {
				m.freed(a)
			}
			for p := r.Ptr; p < r.End(); p++ {
				if delete(lines, p); !takes {
					lines[p] = line + 1
				}
			}
		}
		got := map[spec.Ptr]int{}
		sizes := 0
		m.byPtr.Ascend(0, func(at spec.Ptr, p freedPart) bool {
			for q := at; q < p.End(); q++ {
				if got[q] != 0 {
					t.Fatalf("%v is in two parts", q)
				}
				got[q] = p.line
			}
			if _, there := m.bySize.Get(p); !there {
				t.Fatalf("%v is not among the sizes", p)
			}
			sizes++
			return true
		})
		if m.bySize.Len() != sizes || len(got) != len(lines) {
			t.Fatalf("%d parts and %d by size; %d bytes, want %d", sizes, m.bySize.Len(), len(got), len(lines))
		}
		for p, line := range lines {
			if got[p] != line {
				t.Fatalf("%v was freed in line %d, not %d", p, line, got[p])
			}
		}
	})
}

// TestCreatedAgain: the first stream that a log creates may have been used before, since the log
// may begin later than the program. Of the streams after it only one that is not there is created.
func TestCreatedAgain(t *testing.T) {
	log := `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0,16]}` + "\n" +
		`{"op":"kernel","stream":1}` + "\n" + `{"op":"create_stream","stream":1}` + "\n" + `{"op":"create_stream","stream":1}` + "\n" + `{"end":true}` + "\n"
	result, err := Reader(strings.NewReader(log), "log", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Violations) != 1 || result.Violations[0].Line != 4 {
		t.Errorf("the violations are %+v", result.Violations)
	}
}

// TestMoreViolations: how many violations are not listed is said.
func TestMoreViolations(t *testing.T) {
	if text := (&Result{File: "log", More: 3}).String(); !strings.Contains(text, "log: 3 more are not listed") {
		t.Error(text)
	}
}

// TestNameOfWork: work with a name is called by its kind and its name, also with --stream-ordered.
func TestNameOfWork(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		c := &checker{options: Options{StreamOrdered: ordered}, given: &written{}}
		if name := c.who(&fakegpu.Access{Kind: "kernel", Name: "k", Host: true}); name != `kernel "k"` {
			t.Errorf("it is called %s", name)
		}
	}
}

// TestPlainHazards: a hazard of no work is told by what is missing.
func TestPlainHazards(t *testing.T) {
	c := &checker{given: &written{}}
	if text := c.plainly(fakegpu.Hazard{Missing: "a wait"}); text != "a wait" {
		t.Error(text)
	}
	for verb, write := range map[string]bool{"reads": false, "writes": true} {
		if text := c.plainly(fakegpu.Hazard{Missing: "a wait", Second: &fakegpu.Access{Kind: "kernel", Host: true, Write: write}}); !strings.HasPrefix(text, "kernel "+verb+" 0 bytes") {
			t.Error(text)
		}
	}
}

// TestAskedFails: what the driver is said to have given, and cannot have given, is an error of the
// request as well.
func TestAskedFails(t *testing.T) {
	failure := errors.New("failure")
	d := driver{c: &checker{}}
	if err := d.asked(&trace.Op{}, failure, spec.Range{}); err != failure {
		t.Error(err)
	}
}

// TestWrongFieldOfNoOperation: a field that cannot be read is an error also in a line that is no
// operation of the program.
func TestWrongFieldOfNoOperation(t *testing.T) {
	if _, err := Reader(strings.NewReader(csvHeader+"1,1,free completed,zz,0,0\n"), "log", Options{}); err == nil {
		t.Error("an address that is none was read")
	}
}

// TestAddressesAreHexadecimal: nothing but digits is in an address.
func TestAddressesAreHexadecimal(t *testing.T) {
	for _, address := range []string{"0x1:0", "0x1G0", "0x1/0", "0x1@0", "0x1`0", "0x1g0"} {
		if _, err := Reader(strings.NewReader(csvHeader+"1,1,allocate,"+address+",512,0\n"), "log", Options{}); err == nil {
			t.Errorf("%s was read", address)
		}
	}
}

// TestLongestLine: a line of just the greatest length is read.
func TestLongestLine(t *testing.T) {
	const line = "1,1,free completed,0x1000,512,0"
	long := strings.Replace(line, "512", strings.Repeat("0", longestLine-1-len(line))+"512", 1)
	for more, want := range []bool{true, false} {
		_, err := Reader(strings.NewReader(csvHeader+strings.Replace(long, "512", strings.Repeat("0", more)+"512", 1)+"\n"), "log", Options{})
		if (err == nil) != want {
			t.Errorf("a line of %d bytes: %v", longestLine+more, err)
		}
	}
}

// TestAnswers: an answer of the device is 0 or 1.
func TestAnswers(t *testing.T) {
	for answer, known := range map[string]bool{"0": true, "1": true, "2": false, "0x10": false} {
		for _, query := range []string{"query event,0x5,%s,0", "query stream,0,%s,0x10"} {
			_, err := Reader(strings.NewReader(csvHeader+"1,1,record event,0x5,0,0x10\n1,2,"+fmt.Sprintf(query, answer)+"\n"), "log", Options{})
			if (err == nil) != known || err != nil && !strings.Contains(err.Error(), "Size: want 0 or 1, have") {
				t.Errorf(query+": %v", answer, err)
			}
		}
	}
	for answer, told := range map[int]bool{0: false, 1: true} {
		for _, query := range []string{"query event,0x5,%d,0", "query stream,0,%d,0x10"} {
			log := csvHeader + "1,1,allocate,0x1000,512,0\n1,2,write,0x1000,0,0x10\n1,3,record event,0x5,0,0x10\n1,4," + fmt.Sprintf(query, answer) +
				"\n1,5,free,0x1000,512,0\n1,6,allocate,0x1000,512,0\n1,7,host read,0x1000,0,0\n1,8,free,0x1000,512,0\n"
			result, err := Reader(strings.NewReader(log), "log", Options{})
			if err != nil || (len(result.Violations) == 0) != told {
				t.Errorf(query+": %+v, %v", answer, result, err)
			}
		}
	}
}

// TestCompletedFrees: what a free had to wait for is forgotten when it completes.
func TestCompletedFrees(t *testing.T) {
	var text strings.Builder
	text.WriteString(csvHeader + "1,1,driver allocate,0x1000000,20971520,0x10\n")
	for i := range 10 {
		fmt.Fprintf(&text, "1,1,allocate,%#[1]x,512,0x10\n1,1,record stream,%#[1]x,0,0x20\n1,1,free,%#[1]x,512,0x10\n", 0x1000000+512*i)
		if i%2 == 0 {
			fmt.Fprintf(&text, "1,1,free completed,%#x,0,0\n", 0x1000000+512*i)
		}
	}
	log, err := open(strings.NewReader(text.String()), "log")
	if err != nil {
		t.Fatal(err)
	}
	c, err := newChecker(log, "log", Options{})
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for {
		op, err := log.Next()
		if err != nil {
			break
		}
		if err := c.operation(op); err != nil {
			t.Fatal(err)
		}
		most = max(most, len(c.memory.waiting))
	}
	if len(c.memory.waiting) != 5 || most != 5 {
		t.Errorf("%d frees wait, and at most %d did", len(c.memory.waiting), most)
	}
}

// TestFreesThatDoNotWait: where a free is work on a stream, the program is told which stream it
// should have waited for; else what would have told the allocator.
func TestFreesThatDoNotWait(t *testing.T) {
	const log = csvHeader + "1,1,driver allocate host,0x1000000,4096,0\n1,2,allocate,0x1000000,512,0x10\n1,3,wait,0x10,0,0x20\n1,4,write,0x1000000,0,0x20\n" +
		"1,5,free,0x1000000,512,0x10\n1,6,allocate,0x1000000,512,0x10\n1,7,write,0x1000000,0,0x10\n1,8,free,0x1000000,512,0x10\n"
	for ordered, want := range map[bool][]string{
		true:  {"the program: the free in line 6 does not wait for stream 0x20", "the stream of the free waits for stream 0x20"},
		false: {"the program: nothing told the allocator of stream 0x20 before the free in line 6", "record_stream for stream 0x20, or stream 0x10 waits for it, before the free"},
	} {
		result, err := Reader(strings.NewReader(log), "log", Options{StreamOrdered: ordered})
		if err != nil {
			t.Fatal(err)
		}
		var details []string
		for _, v := range result.Violations {
			for _, d := range v.Details {
				details = append(details, d.Text)
			}
		}
		for _, text := range want {
			if !slices.Contains(details, text) {
				t.Errorf("stream-ordered %v: %q", ordered, details)
			}
		}
	}
}

// TestSeveralDevices: where memory lies of which device is told by driver calls only.
func TestSeveralDevices(t *testing.T) {
	log := func(devices int) string {
		return strings.Replace(smallHeader, `"version":2`, fmt.Sprintf(`"version":2,"devices":%d`, devices), 1) +
			`{"op":"malloc","id":1,"size":512,"addr":4096}` + "\n" + `{"op":"free","id":1}` + "\n" + `{"end":true}` + "\n"
	}
	if _, err := Reader(strings.NewReader(log(1)), "log", Options{}); err != nil {
		t.Error(err)
	}
	if _, err := Reader(strings.NewReader(log(2)), "log", Options{}); err == nil || !strings.Contains(err.Error(), "log:2: a log of several devices must have driver calls") {
		t.Error(err)
	}
}
