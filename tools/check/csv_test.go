package check

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"gaugeblock/spec/trace"
)

// TestEmptyTable: the error is one of the first line.
func TestEmptyTable(t *testing.T) {
	_, err := newCSV(bufio.NewReader(strings.NewReader("")), "log")
	var wrong *trace.Error
	if !errors.As(err, &wrong) || wrong.Line != 1 || !strings.Contains(wrong.Reason, "the file is empty") {
		t.Errorf("%v", err)
	}
}

// What the driver is asked behind the last operation counts too: it takes the memory away under what is allocated.
func TestDriverCallsAtTheEnd(t *testing.T) {
	const log = csvHeader + "1,1,driver allocate,0x200000,2097152,0\n1,2,allocate,0x200000,512,0\n1,3,free,0x200000,512,0\n"
	count := func(text string) (operations, calls int) {
		c, err := newCSV(bufio.NewReader(strings.NewReader(text)), "log")
		if err != nil {
			t.Fatal(err)
		}
		for {
			op, err := c.Next()
			if errors.Is(err, io.EOF) {
				return operations, calls
			}
			if err != nil {
				t.Fatal(err)
			}
			operations++
			calls += len(op.Expect.Entries)
		}
	}
	for text, want := range map[string][2]int{log: {2, 1}, log + "1,4,driver free,0x200000,2097152,0\n": {3, 2}} {
		if operations, calls := count(text); operations != want[0] || calls != want[1] {
			t.Errorf("%d operations and %d calls of the driver in\n%s", operations, calls, text)
		}
	}
}
