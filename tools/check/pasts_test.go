package check_test

import (
	"fmt"
	"strings"
	"testing"

	"gaugeblock/tools/check"
)

// TestOldWaits: what a stream has waited for counts, and what it has not waited for counts, also
// when so much has been waited for since that the waits themselves are forgotten.
func TestOldWaits(t *testing.T) {
	var log strings.Builder
	log.WriteString("Thread,Time,Action,Pointer,Size,Stream\n1,1,allocate,0x1000,1024,1\n1,1,write,0x1000,0,1\n1,1,wait,1,0,5\n1,1,wait,5,0,2\n")
	for s := range 100 {
		fmt.Fprintf(&log, "1,1,allocate,%#x,1024,%d\n", 0x100000+s*1024, 10+s)
	}
	for i := range 150_000 {
		s := i % 100
		fmt.Fprintf(&log, "1,1,write,%#x,0,%[2]d\n1,1,wait,%[2]d,0,%[3]d\n", 0x100000+s*1024, 10+s, 10+i*7%101)
	}
	log.WriteString("1,1,read,0x1000,0,2\n1,1,read,0x1000,0,3\n1,1,wait,2,0,4\n1,1,write,0x1000,0,4\n")
	result, err := check.Reader(strings.NewReader(log.String()), "log", check.Options{Live: true, Races: true})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, v := range result.Violations {
		found = append(found, fmt.Sprintf("line %d: %s", v.Line, v.Text))
	}
	want := "line 300107: read on stream 3 does not wait for line 3\nline 300109: write on stream 4 does not wait for line 300107"
	if got := strings.Join(found, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
