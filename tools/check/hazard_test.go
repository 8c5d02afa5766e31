package check

import (
	"slices"
	"strings"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec/trace"
)

// TestReturnedMemory: who is at fault if memory goes back to the driver that work may still use.
func TestReturnedMemory(t *testing.T) {
	const read = "1,3,read,0x1000000,0,"
	for _, test := range []struct{ what, lines, thread, want string }{
		{"nobody told the allocator", read + "0x20\n", "1", "the program: nothing told the allocator of stream 0x20 before the free in line 5"},
		{"the stream was recorded", "1,3,record stream,0x1000000,0,0x20\n" + read + "0x20\n", "1", "the allocator: it has not waited for stream 0x20"},
		{"the stream of the allocation", read + "0x10\n", "1", "the allocator: it has not waited for stream 0x10"},
		{"the thread of the free had waited, another one gives the memory back", read + "0x20\n1,4,synchronize,0,0,0x20\n", "2", "the allocator: it has not waited for stream 0x20"},
		{"so it had, and the stream of the allocation is destroyed", read + "0x20\n1,4,synchronize,0,0,0x20\n1,4,destroy stream,0,0,0x10\n", "2", "the allocator: it has not waited for stream 0x20"},
	} {
		log := csvHeader + "1,1,driver allocate host,0x1000000,4096,0\n1,2,allocate,0x1000000,512,0x10\n" + test.lines +
			"1,5,free,0x1000000,512,0x10\n" + test.thread + ",6,driver free host,0x1000000,4096,0\n" + test.thread + ",7,empty cache,0,0,0\n"
		result, err := Reader(strings.NewReader(log), "log", Options{})
		if err != nil {
			t.Fatalf("%s: %v", test.what, err)
		}
		var details []string
		for _, v := range result.Violations {
			for _, d := range v.Details {
				details = append(details, d.Text)
			}
		}
		if !slices.Contains(details, test.want) {
			t.Errorf("%s: %q", test.what, details)
		}
	}
}

// TestWorkInWords: who did a piece of work, and how the allocator could know of it.
func TestWorkInWords(t *testing.T) {
	c := &checker{given: &written{}, header: &trace.Header{}}
	if got, want := c.who(&fakegpu.Access{Kind: "kernel", Name: "k", Graph: true, Host: true}), `kernel "k" of a graph`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := c.who(&fakegpu.Access{Kind: "kernel", Host: true}), "kernel"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	a := &allocation{device: 1, on: &given{handle: 0x10}, freed: 9, uses: &uses{list: []use{{device: 1, on: &given{handle: 0x20}, line: 5}}}}
	for _, test := range []struct {
		work fakegpu.Access
		want string
	}{
		{fakegpu.Access{Device: 1, Stream: 0x20}, "was recorded for the memory in line 5"},
		{fakegpu.Access{Device: 0, Stream: 0x20}, "what was freed in line 9 waits for"},
		{fakegpu.Access{Device: 1, Stream: 0x30}, "what was freed in line 9 waits for"},
		{fakegpu.Access{Device: 1, Stream: 0x20, Host: true}, "what was freed in line 9 waits for"},
		{fakegpu.Access{Device: 1, Stream: 0x10}, "the memory was allocated for"},
		{fakegpu.Access{Device: 1, Stream: 0x10, Host: true}, "what was freed in line 9 waits for"},
	} {
		if got := c.knew(&test.work, a); !strings.Contains(got, test.want) {
			t.Errorf("%+v: %q", test.work, got)
		}
	}
}
