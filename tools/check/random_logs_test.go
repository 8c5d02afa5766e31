package check_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/internal/checkout"
	"gaugeblock/internal/mutated"
	"gaugeblock/tools/check"
	"gaugeblock/tools/reference"
)

// TestRandomLogs compares what is told of logs that nobody wrote with testdata/random_logs (-rewrite writes it):
//
//	table seed=N              a table of random lines, of which some are mistakes of a program or of an allocator
//	damaged seed=N NAME       a recorded trace's beginning, of which lines are missing, doubled or changed
//
// The options follow from the seed.
func TestRandomLogs(t *testing.T) {
	recorded, err := checkout.OwnTraces()
	if err != nil {
		t.Fatal(err)
	}
	datadriven.RunTest(t, filepath.Join("testdata", "random_logs"), func(t *testing.T, d *datadriven.TestData) string {
		var seed int
		d.ScanArgs(t, "seed", &seed)
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		var log string
		if d.Cmd == "table" {
			log = randomTable(r)
		} else {
			log, err = mutated.Trace(r, recorded[d.CmdArgs[1].Key], true)
			if err != nil {
				t.Fatal(err)
			}
		}
		o := check.Options{
			Live: seed%3 == 0, Races: seed%2 == 0, NeedlessCalls: seed%2 == 1, StreamOrdered: seed%5 == 0, BlockingStreams: seed%7 < 3, PerThreadDefault: seed%4 == 1,
		}
		if seed%3 > 0 {
			o.Alignment = 1024
		}
		if seed%4 == 0 {
			o.Reference = reference.New
		}
		result, err := check.Reader(strings.NewReader(log), "log", o)
		if err != nil {
			return err.Error() + "\n"
		}
		told := fmt.Sprintf("%v\nno work: %v\n", result, result.NoWork)
		for _, v := range result.Violations {
			told += fmt.Sprint(v.AtFault, " ")
		}
		return told + "\n"
	})
}

// randomTable is a table in which a few streams, events, threads and places are used again and again.
func randomTable(r *rand.Rand) string {
	var b strings.Builder
	columns := []int{0, 1, 2, 3, 4, 5}
	if r.IntN(3) == 0 { // another logger's table
		columns = r.Perm(6)
		columns = slices.DeleteFunc(columns, func(c int) bool { return c < 2 && r.IntN(2) == 0 })
	}
	write := func(cells ...string) {
		for i, c := range columns {
			b.WriteString(cells[c])
			b.WriteByte(",\n"[min(i/(len(columns)-1), 1)])
		}
	}
	write("Thread", "Time", "Action", "Pointer", "Size", "Stream")
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	place := func() string { return fmt.Sprintf("%#x", 0x10000000+0x200*r.IntN(6)) }
	line := func(action, pointer string, size any, stream string) {
		write(pick("7", "7", "8"), "1", action, pointer, fmt.Sprint(size), stream)
	}
	stream := func() string { return pick("0", "0x10", "0x10", "0x20", "0x1", "0x2") }
	event := func() string { return pick("0x3", "0x4") }
	calls := r.IntN(3) > 0 // of the driver
	if calls {
		line("driver allocate", "0x10000000", 2048<<r.IntN(2), "0x10")
	}
	live, given := map[string]int{}, map[string]bool{}
	used := func() string {
		for at := range inOrder(live) {
			if r.IntN(2) > 0 {
				return at
			}
		}
		return place()
	}
	for range 12 + r.IntN(24) {
		switch r.IntN(16) {
		case 0, 1, 2, 3:
			at := place()
			for live[at] > 0 && len(live) < 6 && r.IntN(8) > 0 {
				at = place()
			}
			live[at] = 512 << r.IntN(2)
			line("allocate", at, live[at], stream())
		case 4, 5, 6:
			for at, size := range inOrder(live) {
				if delete(live, at); r.IntN(4) == 0 {
					size = []int{0, 256}[r.IntN(2)]
				}
				line(pick("free", "deallocate"), at, size, stream())
				break
			}
		case 7, 8, 9:
			line(pick("read", "write", "write", "host read", "host write"), used(), []int{0, 0, 8, 1024}[r.IntN(4)], stream())
		case 10:
			line(pick("wait"), stream(), 0, stream())
		case 11:
			line(pick("record event", "wait event", "synchronize event", "query event", "destroy event"), event(), r.IntN(2), stream())
		case 12:
			line(pick("record stream", "free completed"), used(), 0, stream())
		case 13:
			line(pick("synchronize", "synchronize device", "query stream", "create stream", "destroy stream", "wait thread", "end thread"), pick("7", "8"), r.IntN(2), stream())
		case 14:
			what := pick("", " host")
			at := map[string]string{"": "0x20000000", " host": "0x30000000"}[what]
			action := map[bool]string{false: "driver allocate", true: "driver free"}[given[what]]
			if r.IntN(8) > 0 {
				given[what] = !given[what]
			}
			if calls {
				line(action+what, at, 2048, stream())
			}
		case 15:
			line(pick("allocate failure", "empty cache", "free", "free", "query event", "driver unmap"), "0", 4096, stream())
		}
	}
	return b.String()
}

// inOrder are the entries of a map in an order that is always the same, so that the first is.
func inOrder(live map[string]int) func(yield func(string, int) bool) {
	return func(yield func(string, int) bool) {
		for k := range 6 {
			at := fmt.Sprintf("%#x", 0x10000000+0x200*k)
			if size := live[at]; size > 0 && !yield(at, size) {
				return
			}
		}
	}
}
