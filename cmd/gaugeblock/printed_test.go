package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/tla"
	"gaugeblock/tools/fit"
	runner "gaugeblock/tools/run"
	"gaugeblock/tools/torch"
)

// shown is what a page in JSON says in words, and the names of its reports' other parts.
func shown(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var page map[string]any
	if err := json.Unmarshal(text, &page); err != nil {
		t.Fatalf("%v: %.100s", err, text)
	}
	words := map[string]bool{
		"title": true, "device": true, "brief": true, "verdict": true, "summary": true, "notes": true, "whatif": true, "ownCategories": true, "categories": true,
	}
	for _, r := range page["reports"].([]any) {
		report := r.(map[string]any)
		for key := range report {
			if !words[key] {
				delete(report, key)
			}
		}
		var names []string
		for _, c := range report["categories"].([]any) {
			names = append(names, fmt.Sprint(c.(map[string]any)["name"]))
		}
		report["categories"] = strings.Join(names, ", ")
		shortenSummary(report)
		if other, is := report["whatif"].(map[string]any); is {
			rows := other["predictions"].([]any)
			for i, row := range rows {
				p := row.(map[string]any)
				rows[i] = fmt.Sprintf("%v: %v, recommended %v%v", p["settings"], p["outOfMemory"], p["recommended"], p["error"])
			}
			delete(other, "details")
		}
	}
	for _, key := range []string{"compared", "ranks", "iterations"} {
		if part, is := page[key].(map[string]any); is {
			list, _ := part["list"].([]any)
			for _, row := range list {
				shortenSummary(row.(map[string]any))
			}
			for _, long := range []string{"rows", "stacks", "against", "growth"} {
				delete(part, long)
			}
		}
	}
	text, err = json.MarshalIndent(page, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// shortenSummary leaves of it what there is room for in a line.
func shortenSummary(of map[string]any) {
	s := of["summary"].(map[string]any)
	of["summary"] = fmt.Sprintf("settings %v, %v entries, %v failed, %v reserved, %v allocated", s["settings"], s["entries"], s["ooms"], s["peakReserved"], s["peakAllocated"])
}

// printed is a result that is made up, as it is printed.
func printed(t *testing.T, name string) string {
	t.Helper()
	var b strings.Builder
	finding := torch.Finding{Area: "core", Seed: 7, What: "operation 2, free: address: the reference has 1, PyTorch 2", Program: []string{"malloc 5", "free"}, Trace: "a.jsonl"}
	written := finding
	written.Cplusplus = "a.cc"
	switch name {
	case "torch":
		differs := &torch.Report{Operations: 5000, Seconds: 2, CPUSeconds: 4, Listed: map[string]int{"order/free": 3, "other": 12}, Unexplained: []torch.Finding{finding, written}}
		told(&b, func(c *compareCommand, env *environment) error { return c.tell(env, differs) })
		told(&b, func(c *compareCommand, env *environment) error {
			return c.tell(env, &torch.Report{PyTorch: "2.11.0", Operations: 10, Seconds: 1, CPUSeconds: 1})
		})
	case "against":
		differs := &torch.AgainstReport{Builds: [2]string{"2.12", "2.13"}, Operations: 100, Programs: 9, Differ: 4, Seconds: 3, Causes: []torch.Cause{
			{Finding: written, Programs: 3, Seconds: 1.25, Settings: "a:1"}, {Finding: torch.Finding{Area: "pools", Seed: 1, What: "else"}, Programs: 1, Seconds: 2},
		}}
		told(&b, func(c *compareCommand, env *environment) error { return c.tellAgainst(env, differs) })
		told(&b, func(c *compareCommand, env *environment) error {
			return c.tellAgainst(env, &torch.AgainstReport{Builds: [2]string{"2.12", "2.12"}, Operations: 100, Programs: 9})
		})
	case "edges":
		r := &torch.EdgeReport{
			Configuration: "core_tiny", States: 1200, Edges: 3400, Taken: 3300, Operations: 12345, Walks: 1000, Seconds: 4.4, Listed: map[string]int{"other": 1}, NotTaken: map[string]int{"": 2, "row": 98},
			Unexplained: []torch.EdgeFinding{{What: "a difference", Labels: []string{"Malloc(1)", "Free(0)"}}},
		}
		out := &checkedWriter{to: &b}
		new(compareCommand).tellEdges(out, r, false)
		(&compareCommand{JSON: true}).tellEdges(out, r, false)
		fmt.Fprintf(&b, "TLC has counted %d edges, and of none %d\n", edgesOf("ties"), edgesOf("none"))
		r.Inexact, r.Otherwise = "sizes", 1234
		printEdges(&b, r, true)
		var all edgesTaken
		for _, r := range []*torch.EdgeReport{{Edges: 10, Taken: 7}, {Edges: 20, Taken: 5, NotTaken: map[string]int{"": 3, "row": 12}}, r} {
			all.add(r)
			fmt.Fprintf(&b, "%v, status %d, and after Ctrl-C %d\n", all, all.status(false), all.status(true))
		}
		for _, configurations := range [][]string{{"tie"}, {"ties", "pools"}, nil} {
			list, err := (&compareCommand{Config: configurations}).edgeConfigurations()
			fmt.Fprintf(&b, "%q: %d configurations, %v\n", configurations, len(list), err)
		}
	case "violation":
		module := checkOf(t).Module
		path := []explore.Step[*bounded.State]{{State: module.Initial()[0]}}
		for range 2 {
			var next explore.Step[*bounded.State]
			module.Next(path[len(path)-1].State, func(label int, to *bounded.State) {
				if next.State == nil {
					next = explore.Step[*bounded.State]{Label: module.Labels()[label], State: to}
				}
			})
			path = append(path, next)
		}
		for _, loop := range []int{-1, 0, 1, 2} { // the state that it goes back to
			printViolation(&b, "ties", module, &explore.Violation[*bounded.State]{Trace: path, Loop: loop})
		}
	case "explored":
		check, found := checkOf(t), explored{Config: "ties", States: 1234, Edges: 56789, Seconds: 2, OK: true, Checked: []string{"A", "B"}}
		out := &checkedWriter{to: &b}
		for _, change := range []func(){func() {}, func() { found.OK, found.Violation, found.Collision = false, "A", 1.26e-9 }, func() { found.Stopped = true }} {
			change()
			new(exploreCommand).report(out, found, check)
		}
		(&exploreCommand{JSON: true}).report(out, found, check)
	case "exhausted":
		for _, c := range []exploreCommand{{}, {Dir: "here"}, {MaxMemory: 3 << 20}, {MaxMemory: 3 << 20, Dir: "here"}} {
			fmt.Fprintln(&b, c.explain("ties", &explore.LimitError{States: 12345}))
		}
		fmt.Fprintln(&b, new(exploreCommand).explain("ties", os.ErrPermission))
	case "completion":
		var small struct {
			First struct {
				Jobs  int    `name:"jobs" help:"How many."`
				Level string `name:"level" enum:"a,b" default:"a" help:"It's one of two."`
				Whole bool   `name:"whole" negatable:"" default:"true" help:"All."`
			} `cmd:"" help:"The first \\ one."`
			Hidden struct{} `cmd:"" hidden:"" help:"Nobody sees it."`
			Second struct {
				Kind string `name:"kind" enum:"x, y" default:"x" help:"A kind."`
			} `cmd:"" help:"The second."`
		}
		commands := visible(kong.Must(&small, kong.Name("small")).Model.Children)
		completeBash(&b, commands, false)
		completeBash(&b, commands, true)
		completeFish(&b, commands)
	case "fit":
		var env environment
		answers := []fit.Answer{{Interrupted: true}, {}}
		for n := range 3 {
			env.status = 0
			new(fitCommand).tell(&env, &b, answers[:n])
			fmt.Fprintf(&b, "status %d\n", env.status)
		}
		for _, c := range []fitCommand{{}, {GPU: []string{"t4", "4090"}}, {Table: true}} {
			for _, gpu := range c.kinds() {
				fmt.Fprint(&b, gpu.Word, " ")
			}
			fmt.Fprintln(&b)
		}
	case "status":
		env := &environment{stderr: &b}
		percent := 10.0
		old := &runner.Record{Summary: runner.Summary{PeakReserved: 1000, PeakAllocated: 900}, Sites: []runner.Site{{At: "a:1", Bytes: 5}}}
		for _, c := range []struct {
			command  runCommand
			reserved uint64
			status   int
			old      *runner.Record
		}{
			{runCommand{MaxReserved: byteLimit{given: true, bytes: 1100}}, 1100, 0, nil},
			{runCommand{MaxReserved: byteLimit{given: true, bytes: 1100}}, 1101, 0, nil},
			{runCommand{MaxReserved: byteLimit{given: true, bytes: 1100}}, 1101, 7, nil},
			{runCommand{}, 1101, 0, nil},
			{runCommand{MaxGrowth: &percent}, 1100, 0, old},
			{runCommand{MaxGrowth: &percent}, 1101, 0, old},
			{runCommand{}, 1101, 0, old},
			{runCommand{MaxGrowth: &percent, MaxReserved: byteLimit{given: true, bytes: 5}}, 1101, 3, old},
		} {
			r := &runner.Record{Result: &runner.Result{Status: c.status}, Summary: runner.Summary{PeakReserved: c.reserved, PeakAllocated: c.reserved}, Sites: []runner.Site{{At: "a:1", Bytes: 9}}}
			fmt.Fprintf(&b, "status %d\n", c.command.status(env, r, c.old))
		}
	default:
		t.Fatalf("print %s?", name)
	}
	return b.String()
}

// told is how a report is told to people and as JSON, and the status.
func told(b *strings.Builder, tell func(*compareCommand, *environment) error) {
	for _, json := range []bool{false, true} {
		env := &environment{stdout: b}
		err := tell(&compareCommand{JSON: json}, env)
		fmt.Fprintf(b, "status %d, %v\n", env.status, err)
	}
}

func checkOf(t *testing.T) *bounded.Check {
	t.Helper()
	list, err := tla.Configurations()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(list, func(c tla.Configuration) bool { return c.Name == "ties" })
	check, err := new(exploreCommand).open(list[at])
	if err != nil {
		t.Fatal(err)
	}
	return check
}

// TestFoldedLines: lines are broken between words, and what follows is indented. What is to be copied stays whole.
func TestFoldedLines(t *testing.T) {
	for _, test := range []struct {
		line    string
		columns int
		want    string
	}{
		{"one two three", 13, "one two three"}, {"one two three", 12, "one two\n  three"}, {"one two three", 7, "one two\n  three"}, {"one two three", 6, "one\n  two\n  three"},
		{"  one two three", 9, "  one two\n    three"}, {"   one two", 8, "   one\n     two"}, {"    one two three", 9, "    one two three"}, {`{"one": "two"}`, 5, `{"one": "two"}`},
		{"try export A=1 now", 8, "try export A=1 now"}, {"\x1b[1mone\x1b[0m two", 7, "\x1b[1mone\x1b[0m two"}, {"onetwothree four", 5, "onetwothree\n  four"}, {"one two three four", 9, "one two\n  three\n  four"},
	} {
		if got := foldLine(test.line, test.columns); got != test.want {
			t.Errorf("%q in %d columns: %q, want %q", test.line, test.columns, got, test.want)
		}
	}
	var b strings.Builder
	f := &foldWriter{to: &b, columns: 7}
	for _, part := range []string{"one ", "two three\nfo", "ur\n\nfive six seven"} {
		if n, err := f.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if got := b.String(); got != "one two\n  three\nfour\n\n" {
		t.Errorf("%q", got)
	}
	if err := f.flush(); err != nil || !strings.HasSuffix(b.String(), "\n\nfive six seven") {
		t.Errorf("%q, %v", b.String(), err)
	}
	failing := &foldWriter{to: failingWriter{}, columns: 7}
	if n, err := failing.Write([]byte("one\n")); n != 0 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
}

// TestShortMessages: of a long message the beginning and the end are shown.
func TestShortMessages(t *testing.T) {
	whole := strings.Repeat("a", messageBegin) + strings.Repeat("z", messageEnd)
	if got := shortMessage(whole); got != whole {
		t.Errorf("%d bytes of %d", len(got), len(whole))
	}
	long := strings.Repeat("a", messageBegin) + "b" + strings.Repeat("z", messageEnd)
	if got := shortMessage(long); got != long[:messageBegin]+"..."+long[len(long)-messageEnd:] {
		t.Errorf("%d bytes of %d", len(got), len(long))
	}
	if got := shortMessage(strings.Repeat("a", messageBegin-1) + "é" + strings.Repeat("é", messageEnd)); strings.ContainsRune(got, '\ufffd') || len(got) != messageBegin-1+3+messageEnd {
		t.Errorf("%d bytes", len(got))
	}
}

// TestWhere: the place of a failure is the first line of this project below the panic.
func TestWhere(t *testing.T) {
	const stack = "goroutine 1 [running]:\nruntime/debug.Stack()\n\t/x/gaugeblock/stack.go:26 +0x5e\npanic({0x1, 0x2})\n\t/go/src/runtime/panic.go:783 +0x132\n"
	for frame, want := range map[string]string{
		"gaugeblock/alloc.f()\n\t/x/gaugeblock/alloc/f.go:7 +0x1\n": " (f.go:7)", "other.f()\n\t/y/alloc/g.go:8 +0x1\n": " (g.go:8)", "other.f()\n\t/y/tests/h.go:9 +0x1\n": " (h.go:9)",
		"other.f()\n\t/y/fakegpu/i.go:10 +0x1\n": " (i.go:10)", "other.f()\n\t/y/other/j.go:11 +0x1\n": "",
	} {
		if got := where(stack + frame); got != want {
			t.Errorf("%q: %q, want %q", frame, got, want)
		}
	}
	err := guard("a b", func() { panic("why") })
	if err == nil || !strings.HasPrefix(err.Error(), "a b: gaugeblock failed here: why") || guard("a", func() {}) != nil {
		t.Error(err)
	}
}

// TestSizesOfFlags: what is a size, and how much of it is for the heap.
func TestSizesOfFlags(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "0": "error", "2GiB": "2147483648", "none": "0", "9223372036854775807": "9223372036854775807", "9223372036854775808": "error", "x": "error", "": "error",
	} {
		var s memorySize
		got := "error"
		if err := s.UnmarshalText([]byte(text)); err == nil {
			got = fmt.Sprint(uint64(s))
		} else if !strings.HasSuffix(err.Error(), "is not a size: give bytes, 512MiB or 2GiB, or none") {
			t.Errorf("%s: %v", text, err)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if n := memorySize(0).most(); n != 1<<63-1 || memorySize(800).most() != 800 || memorySize(800).heap() != 700 {
		t.Errorf("%d, %d", n, memorySize(800).heap())
	}
	for text, want := range map[string]string{
		"20MiB": "20971520", "20971519": "20971519 is 20971519 bytes, less than one segment (20 MiB): were bytes meant? Then write 20971519B; otherwise give a larger unit, as in 20971519GiB",
		"5B": "5", "40": "40 is 40 bytes, less than one segment (20 MiB): were bytes meant? Then write 40B; otherwise give a larger unit, as in 40GiB",
		"19.5MiB": "19.5MiB is 20447232 bytes, less than one segment (20 MiB): were bytes meant? Then write 20447232B; otherwise give a larger unit, as in 19.5GiB",
		"1023GiB": "1098437885952", "1TiB": `"1TiB" is not a limit: give 4420MiB, 39.5GiB, bytes as 4634705920B (less than 1 TiB), or none`, "none": "0",
	} {
		var l byteLimit
		got := fmt.Sprint(l.UnmarshalText([]byte(text)))
		if got == "<nil>" {
			got = fmt.Sprint(l.bytes)
		}
		if got != want || !l.given {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestParts: a part of several is between the first and the last.
func TestParts(t *testing.T) {
	for text, want := range map[string]shard{"1/1": {1, 1}, "2/8": {2, 8}, "8/8": {8, 8}, "9/8": {}, "0/8": {}, "1": {}, "x/2": {}, "1/x": {}, "1/4294967296": {}} {
		var s shard
		err := s.UnmarshalText([]byte(text))
		if s != want || (err == nil) != (want != shard{}) || err != nil && err.Error() != fmt.Sprintf("%q is not a part: write 2/8 for the second of eight", text) {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
}

// TestAddedUp: what areas have checked that are tested at the same time is told together.
func TestAddedUp(t *testing.T) {
	var told []int
	done := checkedOperations{tell: func(n int) { told = append(told, n) }}
	a, b := done.area(), done.area()
	a(10)
	b(5)
	a(30)
	b(7)
	if !slices.Equal(told, []int{10, 15, 35, 37}) {
		t.Error(told)
	}
}

// TestWidths: a terminal's width is that of COLUMNS, if that is a number; a paragraph has at most 100 columns.
func TestWidths(t *testing.T) {
	for text, want := range map[string]int{"": 0, "0": 0, "-5": 0, "x": 0, "1": 1, "77": 77} {
		t.Setenv("COLUMNS", text)
		if got := terminalWidth(&strings.Builder{}); got != want {
			t.Errorf("COLUMNS=%s: %d", text, got)
		}
	}
	words := strings.Repeat("12345678 ", 15)
	for width, longest := range map[int]int{0: 98, 100: 98, 200: 98, 99: 98, 98: 98, 97: 89, 20: 17} {
		most := 0
		for line := range strings.Lines(paragraph(words, width)) {
			most = max(most, len(strings.TrimRight(line, "\n")))
		}
		if most != longest {
			t.Errorf("%d columns: %d", width, most)
		}
	}
	if got := paragraph("a \nb", 50); got != "a\nb" {
		t.Errorf("%q", got)
	}
}

// TestCount: a bar counts to its total at most.
func TestCount(t *testing.T) {
	p := newProgress(&strings.Builder{}, 3, false)
	p.advance()
	p.advance()
	if p.done != 2 || p.terminal != nil || p.container != nil || p.counting != "%d of %d traces" {
		t.Errorf("%+v", p.done)
	}
	p.set(9)
	if p.done != 3 || time.Since(p.started) > time.Hour {
		t.Errorf("%d", p.done)
	}
	p.finish()
}
