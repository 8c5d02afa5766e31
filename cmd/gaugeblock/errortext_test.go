package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestErrorTexts: an error message is explained, in a file, in a log or pasted; a text without
// one, and a snapshot that begins as a text does, are not taken for one.
func TestErrorTexts(t *testing.T) {
	const oom = "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.65 GiB. GPU 2 has a total capacity of 79.19 GiB of which 6.87 GiB is free. Including non-PyTorch memory, this process has 72.31 GiB memory in use. Of the allocated memory 70.63 GiB is allocated by PyTorch, and 134.28 MiB is reserved by PyTorch but unallocated."
	for _, test := range []struct {
		what, in string
		args     []string
		status   int
		says     string
	}{
		{"pasted", oom, nil, statusExact, "a true shortage"},
		{"in a log, twice", "step 1\n" + oom + "\nstep 2\n" + oom, nil, statusExact, "The text has it 2 times."},
		{"in a log, of two ranks", oom + "\n" + strings.ReplaceAll(oom, "GPU 2", "GPU 3"), nil, statusExact, "The first of 2 different errors in the text is explained. The others:   Out of memory on device 3"},
		{"in a line of JSON", `{"log":"` + oom + `\n","stream":"stderr"}`, nil, statusExact, "a true shortage"},
		{"in a notebook", `{"cells": [{"outputs": [{"traceback": ["\u001b[0;31mOutOfMemoryError\u001b[0m: ` + oom[len("[rank2]: torch.OutOfMemoryError: "):] + `"]}]}]}`, nil, statusExact, "a true shortage"},
		{"JSON without either", `{"log":"step 1"}`, nil, statusBadInput, "no memory snapshot"},
		{"UTF-16", utf16Of(oom), nil, statusExact, "a true shortage"},
		{"as JSON", oom, []string{"--json"}, statusExact, `"cause": "shortage"`},
		{"another text", "step 1\nstep 2\n", nil, statusBadInput, "a text without an out-of-memory error"},
		{"JSON that is no snapshot", "[]", nil, statusBadInput, "has no history"},
	} {
		var stdout, stderr bytes.Buffer
		status := run(append([]string{"whatif", "-"}, test.args...), strings.NewReader(test.in), &stdout, &stderr)
		if all := strings.ReplaceAll(stdout.String()+stderr.String(), "\n", " "); status != test.status || !strings.Contains(all, test.says) {
			t.Errorf("%s: status %d: %s", test.what, status, all)
		}
	}
}

// utf16Of is a text as PowerShell writes it.
func utf16Of(text string) string {
	out := "\xff\xfe"
	for _, c := range []byte(text) {
		out += string([]byte{c, 0})
	}
	return out
}
