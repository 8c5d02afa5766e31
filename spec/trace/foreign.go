package trace

import "bytes"

// SnapshotReason says what to do with a file that IsSnapshot.
const SnapshotReason = "this is a memory snapshot of PyTorch, not a trace: gaugeblock whatif and gaugeblock report read it"

// IsSnapshot reports whether a file that begins so is one of PyTorch's memory snapshots:
// a pickle, or the same as JSON.
func IsSnapshot(beginning []byte) bool {
	const protocol = 0x80 // how pickles of version 2 and later begin
	text := bytes.TrimLeft(beginning, " \t\r\n")
	switch {
	case len(beginning) > 1 && beginning[0] == protocol && beginning[1] < 16:
		return true
	case len(text) == 0 || text[0] != '{' && text[0] != '[' || bytes.Contains(text, []byte(`"format"`)):
		return false
	}
	for _, key := range []string{`"segments"`, `"device_traces"`, `"segment_type"`, `"allocator_settings"`} {
		if bytes.Contains(text, []byte(key)) {
			return true
		}
	}
	return false
}
