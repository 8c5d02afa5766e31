package trace

import (
	"strings"
	"testing"

	"gaugeblock/spec"
)

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
