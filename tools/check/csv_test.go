package check

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

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

// TestTooMany: a table may have so many streams and threads, and no more; the error is one of the line.
func TestTooMany(t *testing.T) {
	for _, c := range []struct {
		columns, line string
		most          int
		says          string
	}{
		{"Thread,Action,Pointer,Size,Stream\n", "1,synchronize,0,0,%d\n", trace.MaxStreams, "more than 65536 streams"},
		{"Thread,Action,Pointer,Size,Stream\n", "%d,empty cache,0,0,0\n", mostThreads, "more than 65536 threads"},
	} {
		var table strings.Builder
		table.WriteString(c.columns)
		for i := range c.most + 1 {
			fmt.Fprintf(&table, c.line, i)
		}
		log, err := newCSV(bufio.NewReader(strings.NewReader(table.String())), "log")
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		for ; err == nil; read++ {
			_, err = log.Next()
		}
		if want := fmt.Sprintf("log:%d: %s", c.most+2, c.says); err.Error() != want || read != c.most+1 {
			t.Errorf("%v in operation %d, want %s", err, read, want)
		}
	}
}

// TestUnreadable: what keeps a table from being read is told of the line, also in the first.
func TestUnreadable(t *testing.T) {
	broken := errors.New("it is broken")
	for text, want := range map[string]string{
		"": "log:1: it is broken", csvHeader: "log:2: it is broken", csvHeader + "1,1,empty cache,0,0,0\n1,1,": "log:3: it is broken",
	} {
		_, err := Reader(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), "log", Options{})
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	long := strings.Repeat("x", longestLine)
	for line, want := range map[string]string{long[1:] + "\n": `log:1: this is neither a trace nor a table: the first line has no column "Action"`, long + "\n": "log:1: the line is longer than 4096 bytes", long + long + "\n": "log:1: the line is longer than 4096 bytes"} {
		if _, err := newCSV(bufio.NewReader(strings.NewReader(line)), "log"); err == nil || err.Error() != want {
			t.Errorf("%d bytes: %v", len(line), err)
		}
	}
}
