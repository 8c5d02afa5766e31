package golden

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// The replay must compare every recorded value. Here one recorded value of a trace is
// altered, and the replay must report a difference in exactly this value. The altered trace
// is written in the current version of the format, which must not make a difference.

// sample has one trace of each kind of replay: plain, with driver failures, with pools and
// their tolerances.
var sample = []string{"oom-1000", "realoom-2000", "capture-1000", "checkpoint-1300", "configure-2500"}

// The distances between the operations, or final statistics, that are altered.
const (
	operationStep = 23
	statisticStep = 7
)

// recording is a trace in memory.
type recording struct {
	header trace.Header
	ops    []trace.Op
	end    *trace.End
}

func read(t *testing.T, name string) recording {
	t.Helper()
	header, ops, end, err := trace.ReadFile(filepath.Join("testdata", name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return recording{header, ops, end}
}

// replay writes the recording and replays the written trace.
func (r recording) replay(t *testing.T) replay.Result {
	t.Helper()
	var text bytes.Buffer
	if err := trace.Write(&text, r.header, r.ops, r.end); err != nil {
		t.Fatal(err)
	}
	result, err := replay.Reader(&text, "rewritten", replay.Options{New: reference.New})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// with is the recording with another expectation for one operation.
func (r recording) with(number int, expect trace.Expectation) recording {
	op := r.ops[number-1]
	op.Expect = expect
	r.ops = slices.Clone(r.ops)
	r.ops[number-1] = op
	return r
}

// alterations are expectations that differ from a recorded one in one value, by the field
// of the difference. The last trace entry and block are altered, and the statistic of a
// column.
func alterations(e trace.Expectation, columns []string, column int) map[string]trace.Expectation {
	altered := map[string]trace.Expectation{}
	if e.Addr != nil {
		a := e
		addr := *e.Addr + 512
		a.Addr = &addr
		altered["address"] = a
	}
	if last := len(e.Entries) - 1; last >= 0 {
		a := e
		a.Entries = slices.Clone(e.Entries)
		a.Entries[last].Size++
		altered["events"] = a
	}
	if last := len(e.Layout) - 1; last >= 0 {
		a := e
		a.Layout = slices.Clone(e.Layout)
		a.Layout[last].Blocks = slices.Clone(e.Layout[last].Blocks)
		a.Layout[last].Blocks[len(e.Layout[last].Blocks)-1].Size += 512
		altered["layout"] = a
	}
	a := e
	a.Stats = slices.Clone(e.Stats)
	a.Stats[column]++
	altered[columns[column]] = a
	return altered
}

func TestAlteredExpectationIsNoticed(t *testing.T) {
	for _, name := range sample {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := read(t, name)
			if result := whole.replay(t); !result.Exact {
				t.Fatalf("not exact when written again: %v", &result)
			}
			columns := whole.header.StatColumns
			for number := 1; number <= len(whole.ops); number += operationStep {
				altered := alterations(whole.ops[number-1].Expect, columns, number%len(columns))
				for _, field := range slices.Sorted(maps.Keys(altered)) {
					expectDifference(t, whole.with(number, altered[field]).replay(t), number, field)
				}
			}
		})
	}
}

func TestAlteredEndIsNoticed(t *testing.T) {
	for _, name := range sample {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := read(t, name)
			recorded := *whole.end
			keys := slices.Sorted(maps.Keys(recorded.Stats))
			for i := 0; i < len(keys); i += statisticStep {
				end := recorded
				end.Stats = maps.Clone(recorded.Stats)
				end.Stats[keys[i]]++
				whole.end = &end
				result := whole.replay(t)
				if isTolerated(whole.header.Family, keys[i]) {
					if !result.Exact {
						t.Errorf("%s: %v", keys[i], &result)
					}
					continue
				}
				expectDifference(t, result, len(whole.ops)+1, keys[i])
			}
		})
	}
}

// isTolerated: in two families final peaks and sums over time may differ.
func isTolerated(family, key string) bool {
	past := strings.HasSuffix(key, ".peak") || strings.HasSuffix(key, ".allocated") || strings.HasSuffix(key, ".freed")
	return past && (family == "capture" || family == "checkpoint")
}

func expectDifference(t *testing.T, r replay.Result, number int, field string) {
	t.Helper()
	want := fmt.Sprintf("operation %d, %s", number, field)
	got := "none"
	if d := r.FirstDifference; d != nil {
		got = fmt.Sprintf("operation %d, %s", d.Operation, d.Field)
	}
	if got != want {
		t.Errorf("altered: %s; first difference: %s", want, got)
	}
}
