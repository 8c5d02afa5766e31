package snapshot_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"gaugeblock/snapshot"
)

// Seeds are small: the fuzzer runs thousands of files of 200 bytes while it runs one of 5,000.

// dictionary has the texts that the reader looks for.
var dictionary = []string{
	"segments", "device_traces", "external_annotations", "allocator_settings",
	"device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream",
	"segment_pool_id", "segment_type", "large", "small", "is_expandable", "frames", "blocks",
	"size", "state", "active_allocated", "inactive", "filename", "line", "name",
	"action", "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "oom", "snapshot",
	"addr", "device_free", "time_us", "compile_context", "user_metadata", "pool_id", "history", "real_size",
	"PYTORCH_CUDA_ALLOC_CONF", "max_split_size", "expandable_segments", "roundup_power2_divisions", "512",
}

// pickled writes a text, a list, or a dict of keys and values in turn, as a pickle without its
// beginning and end.
type dictOf []any

func pickled(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return append(append(b, 0x8c, byte(len(v))), v...)
	case int:
		return binary.LittleEndian.AppendUint32(append(b, 'J'), uint32(v))
	case []any:
		b = append(b, ']', '(')
		for _, item := range v {
			b = pickled(b, item)
		}
		return append(b, 'e')
	case dictOf:
		b = append(b, '}', '(')
		for _, item := range v {
			b = pickled(b, item)
		}
		return append(b, 'u')
	}
	panic("unknown")
}

func smallSnapshots() (files [][]byte) {
	frame := dictOf{"name", "f", "filename", "a.py", "line", 3}
	block := dictOf{"size", 512, "state", "inactive", "frames", []any{frame}}
	segment := dictOf{"device", 0, "address", 4096, "total_size", 512, "stream", 0, "segment_type", "small", "blocks", []any{block}}
	entry := dictOf{"action", "alloc", "addr", 4096, "size", 512, "stream", 0, "frames", []any{frame}}
	for _, root := range []any{
		[]any{segment},
		dictOf{"segments", []any{segment}},
		dictOf{"segments", []any{}, "device_traces", []any{[]any{entry}}},
		dictOf{"segments", []any{}, "external_annotations", []any{dictOf{"device", 0, "time_us", 5, "name", "x"}}},
		dictOf{"segments", []any{}, "allocator_settings", dictOf{"PYTORCH_CUDA_ALLOC_CONF", "", "max_split_size", -1}},
	} {
		files = append(files, append(pickled([]byte("\x80\x04"), root), '.'))
	}
	return files
}

// readAny reads a file, whatever it is: the reader must return, and an error has an offset.
func readAny(t *testing.T, file []byte) error {
	t.Helper()
	_, err := snapshot.ReadLimited(bytes.NewReader(file), "file", 64<<20)
	var format *snapshot.FormatError
	if err != nil && (!errors.As(err, &format) || format.Offset < 0) {
		t.Errorf("%T: %v", err, err)
	}
	return err
}

// FuzzRead: any bytes.
func FuzzRead(f *testing.F) {
	for _, file := range smallSnapshots() {
		f.Add(file)
	}
	f.Add([]byte(`{"segments":[{"device":0,"address":4096,"total_size":512,"segment_type":"small","blocks":[{"size":512,"state":"inactive"}]}],"device_traces":[[{"action":"alloc","addr":4096,"size":512}]]}`))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	io.WriteString(w, `{"segments":[]}`)
	w.Close()
	f.Add(packed.Bytes())
	f.Fuzz(func(t *testing.T, file []byte) { _ = readAny(t, file) })
}

// FuzzPickle: the fuzzer's bytes choose operations and what they work on, so that each file is
// a pickle whose operations have arguments, and whose texts are those that snapshots have.
func FuzzPickle(f *testing.F) {
	f.Add([]byte{9, 0, 8, 30, 2})
	f.Add([]byte{10, 0, 10, 1, 8, 30, 2, 4})
	f.Add([]byte("0123456789abcdefghij"))
	f.Fuzz(func(t *testing.T, choices []byte) { _ = readAny(t, assemble(choices)) })
}

// assemble makes a pickle of choices: a byte for an operation, and one for its argument.
func assemble(choices []byte) []byte {
	next := func() byte {
		if len(choices) == 0 {
			return 0
		}
		b := choices[0]
		choices = choices[1:]
		return b
	}
	file, memo, parts := []byte("\x80\x04"), 0, smallParts()
	for len(choices) > 0 {
		switch op := next() % 16; op {
		case 0, 1, 2, 3, 4, 5, 6, 7:
			file = append(file, "(eu]}ast"[op])
		case 8:
			file = pickled(file, dictionary[int(next())%len(dictionary)])
		case 9:
			file = pickled(file, int(int8(next()))*256)
		case 10:
			file = append(file, 0x94)
			memo++
		case 11:
			if memo > 0 {
				file = append(file, 'h', next()%byte(min(memo, 255)))
			}
		case 12:
			file = append(file, []byte{'N', 0x88, 0x89, 0x85, 0x86, 0x87, ')', '0', '1'}[next()%9])
		case 13:
			file = append(file, 0x8a, 9, 255, 255, 255, 255, 255, 255, 255, next(), 0)
		default:
			file = append(file, parts[int(next())%len(parts)]...)
		}
	}
	return append(file, '.')
}

// smallParts are whole values of snapshots.
func smallParts() (parts [][]byte) {
	for _, file := range smallSnapshots() {
		parts = append(parts, file[2:len(file)-1])
	}
	return append(parts, pickled(nil, "segments"), pickled(nil, "frames"), pickled(nil, dictOf{"action", "alloc"}))
}

// TestSmallSnapshots: the seeds are snapshots, so that the fuzzer begins with files that are read
// to their ends; and some of what is assembled at random is.
func TestSmallSnapshots(t *testing.T) {
	for i, file := range smallSnapshots() {
		if err := readAny(t, file); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	for i := range 5 {
		if err := readAny(t, assemble([]byte{14, byte(i)})); err != nil {
			t.Errorf("assembled %d: %v", i, err)
		}
	}
}
