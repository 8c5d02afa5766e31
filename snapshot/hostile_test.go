package snapshot_test

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"gaugeblock/snapshot"
)

func read(t *testing.T, text string) *snapshot.File {
	t.Helper()
	f, err := snapshot.Read(strings.NewReader(text), "file")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// p begins a pickle.
const p = "\x80\x04"

// str is a string in a pickle.
func str(text string) string { return "\x8c" + string(rune(len(text))) + text }

// TestRefused has files that are not snapshots, and their errors.
func TestRefused(t *testing.T) {
	segment := func(fields string) string { return `{"segments":[{"segment_type":"small",` + fields + `}]}` }
	block := func(history string) string {
		return "}(" + str("size") + "M\x00\x02" + str("state") + str("inactive") + str("history") + history + "u"
	}
	for _, c := range []struct{ what, file, message string }{
		{"nothing", "", "file: the file is empty"},
		{"something else", "hello", "file: this is no memory snapshot: neither a pickle of protocol 2 to 5 nor JSON. A memory snapshot is what torch.cuda.memory._dump_snapshot(FILE) writes, after torch.cuda.memory._record_memory_history(); gaugeblock whatif also takes the text of an error"},
		{"an error's text", "[rank0]: torch.OutOfMemoryError: CUDA out of memory.", "file: not JSON: invalid character 'r' looking for beginning of value; gaugeblock whatif also takes the text of an error (at byte 1)"},
		{"a trace", `{"format":"allocator-trace","version":2}` + "\n" + `{"end":true}`, "file: this is a trace, not a memory snapshot"},
		{"another object", `{"version":2}`, "file: this is no memory snapshot: it has no segments"},
		{"an archive", "PK\x03\x04....", "file: the zip archive is damaged: zip: not a valid zip file"},
		{"an old protocol", "\x80\x01.", "file: pickle protocol 1, not 2 to 5"},
		{"a new protocol", "\x80\x06.", "file: pickle protocol 6, not 2 to 5"},

		{"a global", p + "cos\nsystem\n.", "file: the pickle has the operation GLOBAL: it runs Python code or names a Python object, which a memory snapshot does not do and this reader never does (at byte 2)"},
		{"a call", p + "NN\x85R.", "file: the pickle has the operation REDUCE: it runs Python code or names a Python object, which a memory snapshot does not do and this reader never does (at byte 5)"},
		{"a global from the stack", p + "NN\x93.", "file: the pickle has the operation STACK_GLOBAL: it runs Python code or names a Python object, which a memory snapshot does not do and this reader never does (at byte 4)"},
		{"a set", p + "\x8f.", "file: the pickle has the operation 0x8f, which no memory snapshot has (at byte 2)"},

		{"no end", p, "file: the file ends too early: it was cut off (at byte 2)"},
		{"a cut text", p + "X\x10\x00\x00\x00abc", "file: the file ends too early: it was cut off (at byte 7)"},
		{"a text of 1 TiB", p + "\x8d\x00\x00\x00\x00\x00\x01\x00\x00abc", "file: the file ends too early: it was cut off (at byte 11)"},
		{"a text that is none", p + "X\x01\x00\x00\x00\xff.", "file: a string is not UTF-8 (at byte 2)"},
		{"a number of 4 GiB", p + "\x8b\xff\xff\xff\xff.", "file: a number of 4294967295 bytes (at byte 2)"},
		{"a number of 65 bits", p + "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.", "file: a number does not fit 64 bits (at byte 2)"},
		{"an empty stack", p + ".", "file: the pickle ends with 0 values and 0 marks on its stack, not with one value (at byte 2)"},
		{"values left over", p + "NN(.", "file: the pickle ends with 2 values and 1 marks on its stack, not with one value (at byte 5)"},
		{"more behind it", "[] []", "file: the file continues after the end of the snapshot (at byte 3)"},
		{"more behind a pickle", p + "].].", "file: the file continues after the end of the snapshot (at byte 4)"},
		{"a pop too many", p + "N00.", "file: the pickle takes a value from an empty stack (at byte 4)"},
		{"a pop below a mark", p + "N(0.", "file: the pickle takes a value from an empty stack (at byte 4)"},
		{"no mark", p + "}u.", "file: the pickle pops a mark that is not there (at byte 3)"},
		{"a tuple from below a mark", p + "NN(\x86.", "file: the pickle takes a value from an empty stack (at byte 5)"},
		{"a list on a mark", p + "(Na.", "file: the pickle adds to a value that is not there (at byte 4)"},
		{"half a pair", p + "}(Nu.", "file: the pickle adds a key without a value to a dict (at byte 5)"},
		{"an append to None", p + "NNa.", "file: the pickle adds to None (at byte 4)"},
		{"an append to a dict", p + "}Na.", "file: the pickle adds to a dict (at byte 4)"},
		{"appends to a dict", p + "}(NNe.", "file: the pickle adds to a dict (at byte 6)"},
		{"a key of a list", p + "}0]NNs.", "file: the pickle adds to a list (at byte 7)"},
		{"keys of a list", p + "}0](NNu.", "file: the pickle adds to a list (at byte 8)"},
		{"a key of a number", p + "}0K\x00NNs.", "file: the pickle adds to an int (at byte 8)"},
		{"an empty memo", p + "h\x00.", "file: the pickle gets value 0 of a memo of 0 (at byte 2)"},
		{"a memo without the values before", p + "Nr\xff\xff\xff\xff.", "file: the pickle puts value 4294967295 into a memo of 0 (at byte 3)"},

		{"a list in itself", p + "]\x94h\x00a.", "file: a segment is a list, not a dict"},
		{"a dict in itself", p + "}\x94X\x08\x00\x00\x00segmentsh\x00s.", "file: segments is a dict, not a list"},
		{"one list twice", p + "}(X\x08\x00\x00\x00segments]\x94X\x0d\x00\x00\x00device_traces](h\x00h\x00eu.", "file: the trace of device 1 is used in two places (at byte 17)"},
		{"one history of two blocks", p + "]}(" + str("segment_type") + str("small") + str("total_size") + "M\x00\x04" + str("blocks") + "](" + block("]\x94") + block("h\x00") + "eua.", "file: the history of a block is used in two places (at byte 88)"},
		{"a changed entry", p + "}\x94X\x06\x00\x00\x00actionX\x05\x00\x00\x00allocsh\x00NNs.", "file: a trace entry is changed after it was made (at byte 30)"},

		{"cut JSON", `{"segments":[`, "file: the file ends too early: it was cut off (at byte 13)"},
		{"bad JSON", `{"segments":]`, "file: not JSON: invalid character ']' looking for beginning of value (at byte 12)"},
		{"a number", `[1e999]`, "file: 1e999 is not a number that fits 64 bits (at byte 6)"},
		{"a segment of no kind", `[{"segment_type":"huge"}]`, `file: a segment is of type "huge", neither large nor small (at byte 1)`},
		{"a negative size", segment(`"total_size":-1`), "file: total_size is an int, or negative (at byte 13)"},
		{"an address that is none", segment(`"address":"here"`), "file: address is a str, or negative (at byte 13)"},
		{"an address beyond all", segment(`"address":18446744073709551615,"total_size":2,"blocks":[]`), "file: a segment of 2 bytes at 0xffffffffffffffff wraps around (at byte 13)"},
		{"a device beyond all", segment(`"device":1024`), "file: a segment is on device 1024 (at byte 13)"},
		{"a hole", segment(`"total_size":1024,"blocks":[{"address":512,"size":512,"state":"inactive"}]`), "file: a block at 0x200 of 512 bytes does not follow the one that ends at 0x0 (at byte 65)"},
		{"a gap at the end", segment(`"total_size":1024,"blocks":[{"size":512,"state":"inactive"}]`), "file: the blocks of the segment at 0x0 have 512 bytes, the segment has 1024 (at byte 64)"},
		{"no blocks", segment(`"total_size":1024`), "file: the blocks of a segment is None, not a list"},
		{"a state of no kind", segment(`"total_size":512,"blocks":[{"size":512,"state":"lost"}]`), `file: a block is in state "lost" (at byte 64)`},
		{"an entry that is none", `{"segments":[],"device_traces":[[{"addr":1}]]}`, "file: a trace entry has no action (at byte 33)"},
		{"an entry with a text for a size", `{"segments":[],"device_traces":[[{"action":"alloc","size":"1"}]]}`, "file: the value of size in a trace entry is a str (at byte 33)"},
		{"an entry without anything", `{"segments":[],"device_traces":[[{}]]}`, "file: a trace entry has no action (at byte 33)"},
		{"an entry without anything, pickled", p + "}(X\x08\x00\x00\x00segments]X\x0d\x00\x00\x00device_traces]]}aau.", "file: a trace entry has no action"},
		{"a frame that is a number", `{"segments":[],"device_traces":[[{"action":"alloc","frames":[5]}]]}`, "file: the value of frames in a trace entry is a list (at byte 33)"},
		{"a frame that is an entry", `{"segments":[],"device_traces":[[{"action":"alloc","frames":[{"action":"alloc"}]}]]}`, "file: the value of frames in a trace entry is a list (at byte 33)"},
		{"a frame without anything", p + "}(X\x08\x00\x00\x00segments]X\x0d\x00\x00\x00device_traces]]}(X\x06\x00\x00\x00actionX\x05\x00\x00\x00allocX\x06\x00\x00\x00frames]}auaau.", "file: the value of frames in a trace entry is a list (at byte 75)"},
		{"annotations that are a dict", `{"segments":[],"external_annotations":{"device":1}}`, "file: external_annotations is a dict, not a list"},
		{"an entry alone", `{"action":"alloc","addr":512}`, "file: the snapshot is a trace entry"},
		{"a damaged archive", "\x1f\x8bxxxxxxxxxxxx", "file: the compressed data is damaged: gzip: invalid header"},
	} {
		t.Run(c.what, func(t *testing.T) {
			f, err := snapshot.Read(strings.NewReader(c.file), "file")
			if err == nil {
				t.Fatalf("accepted: %+v", f)
			}
			if err.Error() != c.message {
				t.Errorf("got  %s\nwant %s", err, c.message)
			}
			var format *snapshot.FormatError
			if !errors.As(err, &format) {
				t.Errorf("a %T", err)
			}
		})
	}
}

// TestEmptySegment: a segment may have no bytes and no blocks, and lie at any address but the last
// ones.
func TestEmptySegment(t *testing.T) {
	for _, fields := range []string{`"total_size":0,"address":4096,`, `"address":18446744073709551615,`, ``} {
		f := read(t, `[{`+fields+`"segment_type":"large","blocks":[]}]`)
		if len(f.Segments) != 1 || f.Segments[0].TotalSize != 0 || len(f.Segments[0].Blocks) != 0 {
			t.Errorf("%s: %+v", fields, f.Segments)
		}
	}
}

// TestCutAnywhere: no beginning of a snapshot is a snapshot (at some 300 places).
func TestCutAnywhere(t *testing.T) {
	for _, name := range []string{"small.2.pickle", "small.5.pickle", "small.json", "small.gz"} {
		whole, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for cut := 0; cut < len(whole); cut += 1 + len(whole)/300 {
			if _, err := snapshot.Read(bytes.NewReader(whole[:cut]), name); err == nil {
				t.Errorf("%s: its first %d bytes are accepted", name, cut)
			}
		}
	}
}

// TestMemoryIsBounded reads files made to use much memory. The reader may use a fixed
// multiple of the bytes of the file.
func TestMemoryIsBounded(t *testing.T) {
	const megabyte = 1 << 20
	for what, body := range map[string]string{
		"nested lists":     strings.Repeat("]", megabyte),
		"nested tuples":    "N" + strings.Repeat("\x85", megabyte),
		"marks":            strings.Repeat("(", megabyte),
		"dicts":            strings.Repeat("}", megabyte),
		"doubled lists":    "]\x94" + strings.Repeat("(h\x00h\x00e", megabyte/6),
		"memo":             "N" + strings.Repeat("\x94", megabyte),
		"a memo value":     "]\x94" + strings.Repeat("h\x00", megabyte/2),
		"long texts":       strings.Repeat("X\x00\x00\x00\x7f", megabyte/5),
		"a list of itself": "]\x94" + strings.Repeat("h\x00a", megabyte/3),
	} {
		t.Run(what, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := snapshot.Read(strings.NewReader(p+body+"."), "file"); err == nil {
				t.Error("accepted")
			}
			runtime.ReadMemStats(&after)
			const most = 400 // bytes for each that is read, all allocations taken together
			if taken := after.TotalAlloc - before.TotalAlloc; taken > most*megabyte {
				t.Errorf("%d bytes were taken for %d that were read", taken, len(body))
			}
		})
	}
}

// TestDeepJSON: nested JSON uses no stack.
func TestDeepJSON(t *testing.T) {
	_, err := snapshot.Read(strings.NewReader(strings.Repeat("[", 5<<20)), "file")
	if err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("got %v", err)
	}
}
