package fakegpu_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestEnumerator lists the courses of small programs, by what they leave in memory.
func TestEnumerator(t *testing.T) {
	for _, test := range []struct {
		name    string
		program string
		want    string // how often each content of p was left
	}{
		{"no work", ``, "a5:1"},
		{"one fill, which is done in the first call behind it or in the second", `
			fill s p 1; query e; query e`,
			"01:3"},
		{"two streams", `fill s p 1; fill t p 2; query e`,
			// s t, s then t at the end, and without haste: s t, s then t at the end, t s,
			// t then s at the end, and all at the end, which is s t or t s.
			"01:3 02:5"},
		{"two streams in order", `fill s p 1; record e s; wait t e; fill t p 2`,
			"02:4"},
		{"the host waits: only what it waits for has to be done", `fill s p 1; fill t p 2; sync s`,
			"01:3 02:5"},
		{"nodes of a graph", `
			begin s; record e s; wait t e; fill s p 1; fill t p 2; record e t; wait s e; end s G
			instantiate X G; launch s X; sync s`,
			"01:2 02:2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			count := map[string]int{}
			var e fakegpu.Enumerator
			for e.Next() {
				tk := newTalk(fakegpu.Config{Schedule: &e})
				for line := range strings.FieldsFuncSeq("malloc p 8\n stream s\n stream t\n event e\n"+test.program,
					func(r rune) bool { return r == ';' || r == '\n' }) {
					if line = strings.TrimSpace(line); line != "" {
						tk.say(line)
					}
				}
				tk.gpu.DrainAll()
				count[tk.say("read default p")]++
			}
			var got []string
			for _, content := range []string{"a5", "01", "02"} {
				if count[content] > 0 {
					got = append(got, fmt.Sprintf("%s:%d", content, count[content]))
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEnumeratorWantsRepetition: a program that does something else in the next run
// is a mistake that would go unnoticed otherwise.
func TestEnumeratorWantsRepetition(t *testing.T) {
	defer func() {
		if problem := recover(); problem == nil || !strings.Contains(fmt.Sprint(problem), "does not repeat itself") {
			t.Errorf("recovered: %v", problem)
		}
	}()
	var e fakegpu.Enumerator
	for run := 1; e.Next(); run++ {
		g := fakegpu.New(fakegpu.Config{Schedule: &e})
		p, _ := g.Malloc(0, 8)
		for range 1 + run {
			s, _ := g.CreateStream(0)
			_ = g.Busy(0, s)
			_ = g.Fill(0, s, spec.Range{Ptr: p, Bytes: 8}, 1)
		}
		g.DrainAll()
	}
}

// TestRandomRepeats: equal seeds, equal runs; and some seeds differ.
func TestRandomRepeats(t *testing.T) {
	run := func(seed uint64) (answers string) {
		tk := newTalk(fakegpu.Config{Schedule: fakegpu.Random(seed)})
		for range 8 {
			for _, line := range []string{"stream s", "malloc p 8", "event e", "fill s p 1", "record e s", "query e"} {
				answers += tk.say(line) + "\n"
			}
		}
		return answers
	}
	if diff := cmp.Diff(run(1), run(1)); diff != "" {
		t.Error(diff)
	}
	if run(1) == run(2) {
		t.Error("the seed does not matter")
	}
}
