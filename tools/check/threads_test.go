package check

import (
	"slices"
	"strings"
	"testing"
)

// TestEndedThreads: the next thread with the number of one that has ended has another default
// stream, and knows nothing.
func TestEndedThreads(t *testing.T) {
	const device = `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":`
	const malloc, end = `{"op":"malloc","id":1,"size":512,"addr":4096}`, `{"op":"end_thread","thread":1}`
	const write = `{"op":"kernel","thread":1,"stream":1,"writes":[[1,0,0]]}`
	for _, test := range []struct {
		what string
		log  []string
		want []string // violations
	}{
		{"the stream that the handle 2 stands for", []string{device + `[0,2]}`, malloc, write, end, write},
			[]string{"hazard: kernel on stream 0x2 of thread 1 does not wait for line 3", "leak: 512 bytes at 0x1000 were allocated here and never freed"}},
		{"the stream that the header gives to the thread", []string{device + `[0,16],"threads":1}`, malloc, write, end, write},
			[]string{"hazard: kernel on stream 0x10 (the one since line 5) does not wait for line 3", "leak: 512 bytes at 0x1000 were allocated here and never freed"}},
		{"the stream of the thread takes part in a capture", []string{device + `[0,2,16]}`,
			`{"op":"capture_begin","stream":2,"mode":"relaxed"}`, `{"op":"wait_stream","thread":1,"stream":1,"on":2}`,
			`{"op":"wait_stream","thread":1,"stream":2,"on":1}`, end, `{"op":"capture_end","stream":2,"graph":1}`},
			[]string{"device refuses: capture_end: driver: EndCapture: cudaErrorStreamCaptureInvalidated (901): the capture was invalidated by DestroyStream"}},
		{"what the thread has waited for", []string{device + `[0,16]}`, malloc, write, `{"op":"synchronize","thread":1,"stream":1}`, end,
			`{"op":"host_access","thread":1,"reads":[[1,0,0]]}`},
			[]string{"hazard: host access does not wait for line 3", "leak: 512 bytes at 0x1000 were allocated here and never freed"}},
	} {
		result, err := Reader(strings.NewReader(strings.Join(append(test.log, `{"end":true}`), "\n")+"\n"), "log", Options{Races: true})
		if err != nil {
			t.Fatalf("%s: %v", test.what, err)
		}
		if got := violations(result); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q", test.what, got)
		}
	}
}

// TestFreedAtOneAddress: if an address was allocated twice, the one that is freed last says what
// has to complete. The other one's stream is not awaited with it.
func TestFreedAtOneAddress(t *testing.T) {
	const log = `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0,16,32]}
{"op":"malloc","id":1,"size":1048576,"stream":1,"addr":4194304,"events":[["segment_alloc",4194304,2097152,16],["alloc",4194304,1048576,16]]}
{"op":"malloc","id":2,"size":1048576,"stream":1,"addr":4194304,"events":[["alloc",4194304,1048576,16]]}
{"op":"kernel","stream":2,"writes":[[1,0,0]]}
{"op":"record_stream","id":1,"stream":2,"events":[]}
{"op":"free","id":1,"events":[["free_requested",4194304,1048576,16]]}
{"op":"free","id":2,"events":[["free_requested",4194304,1048576,16],["free_completed",4194304,1048576,16]]}
{"op":"malloc","id":3,"size":1048576,"stream":1,"addr":4194304,"events":[["alloc",4194304,1048576,16]]}
{"op":"kernel","stream":1,"writes":[[3,0,0]]}
{"op":"free","id":3,"events":[["free_requested",4194304,1048576,16],["free_completed",4194304,1048576,16]]}
{"end":true}
`
	result, err := Reader(strings.NewReader(log), "log", Options{Races: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"hazard: kernel on stream 0x10 does not wait for line 4",
		"overlap: 1048576 bytes at 0x400000 were allocated while 1048576 bytes at 0x400000, allocated in line 2, were not freed",
	}
	if got := violations(result); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// violations are those of a log by kind and text, sorted.
func violations(r *Result) (of []string) {
	for _, v := range r.Violations {
		of = append(of, string(v.Kind)+": "+v.Text)
	}
	slices.Sort(of)
	return of
}
