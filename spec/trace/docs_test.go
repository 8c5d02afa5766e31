package trace_test

import (
	"os"
	"strings"
	"testing"

	"gaugeblock/spec/trace"
)

// TestTraceDocs: spec/trace/README.md has all of the format, and its example is one.
func TestTraceDocs(t *testing.T) {
	page, err := os.ReadFile("../../spec/trace/README.md")
	if err != nil {
		t.Fatal(err)
	}
	names := append(trace.TraceFieldNames(), trace.TraceHeaderNames()...)
	for _, kind := range trace.OpKinds() {
		names = append(names, string(kind))
	}
	for _, name := range names {
		if !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(string(page), `"`+name+`"`) {
			t.Errorf("no word of %s", name)
		}
	}
	for _, kind := range trace.OpKinds() {
		row := rowOf(string(page), string(kind))
		must, may := trace.TraceKindFields(kind)
		for _, field := range must {
			if !strings.Contains(row, "**`"+field+"`**") {
				t.Errorf("the row of %s does not say that it must have %s: %s", kind, field, row)
			}
		}
		for _, field := range may {
			if field != "addr" && !strings.Contains(row, " `"+field+"`") {
				t.Errorf("the row of %s does not say that it may have %s: %s", kind, field, row)
			}
		}
	}

	_, rest, _ := strings.Cut(string(page), "```jsonl\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("no example")
	}
	if got, want := describeReading(t, strings.NewReader(example)), "fine: operations 5, end true"; got != want {
		t.Errorf("the example: %s", got)
	}
}

// rowOf finds the row of the tables of operations whose first cell names the kind.
func rowOf(page, kind string) string {
	for _, line := range strings.Split(page, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) == 5 && strings.Contains(cells[1], "`"+kind+"`") {
			return line
		}
	}
	return ""
}
