package tlc_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"gaugeblock/model/digest"
	"gaugeblock/model/tlc"
)

// counter is TLC's dump of a specification with a counter: it begins with 0, and
// Add(i), for i in 1..2, is possible while it is below 2.
func counter(t *testing.T) string {
	text, err := os.ReadFile("testdata/counter.dot")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func state(text string) digest.Sum { return digest.Text([]byte(text)) }

func TestReadDump(t *testing.T) {
	s0, s1, s21, s2, s3 := state("x=[a|->0,s|->{}]"), state("x=[a|->1,s|->{1}]"), state("x=[a|->2,s|->{1}]"),
		state("x=[a|->2,s|->{2}]"), state("x=[a|->3,s|->{1,2}]")
	add1, add2 := digest.Text([]byte("Add(1)")), digest.Text([]byte("Add(2)"))
	want := tlc.Dump{
		States: 5, Edges: 4,
		StateDigest: digest.Of([]digest.Sum{s0, s1, s21, s2, s3}),
		EdgeDigest: digest.Of([]digest.Sum{
			digest.Edge(s0, add1, s1), digest.Edge(s0, add2, s2), digest.Edge(s1, add1, s21), digest.Edge(s1, add2, s3),
		}),
	}
	for name, reader := range map[string]io.Reader{
		"whole":      strings.NewReader(counter(t)),
		"in pieces":  iotest.OneByteReader(strings.NewReader(counter(t))),
		"more edges": strings.NewReader(twice(counter(t), " -> ")), // TLC may write an edge again
		"more lines": strings.NewReader(twice(counter(t), "tooltip")),
		"long ranks": strings.NewReader(strings.Replace(counter(t), "{rank = same;", "{rank = same;"+strings.Repeat("1;", 1<<20), 1)),
	} {
		if got, err := tlc.ReadDump(reader, name); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
}

// TestDumpQuotes: in a dump the sign \ stands before a line feed, a quotation mark and itself; and where a long name stands
// before an arrow, the line is an edge.
func TestDumpQuotes(t *testing.T) {
	dump := counter(t)
	dump = dump[:strings.Index(dump, "-5847")] + `-1234567890123456789 [label="/\\ x = \"a\"\n/\\ b = 1",style = filled]
-1234567890123456789 -> -1234567890123456789 [label="Add(\"a -> b\")",color="black",fontcolor="black"];
}
}
`
	s := digest.Text([]byte("b=1\nx=\"a\""))
	want := tlc.Dump{States: 1, Edges: 1, StateDigest: digest.Of([]digest.Sum{s}),
		EdgeDigest: digest.Of([]digest.Sum{digest.Edge(s, digest.Text([]byte(`Add("a -> b")`)), s)})}
	if got, err := tlc.ReadDump(strings.NewReader(dump), "x.dot"); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// twice repeats the lines that contain a text.
func twice(dump, containing string) string {
	var lines []string
	for line := range strings.SplitSeq(dump, "\n") {
		lines = append(lines, line)
		if strings.Contains(line, containing) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// TestReadDumpErrors: an error has the line.
func TestReadDumpErrors(t *testing.T) {
	dump := counter(t)
	for _, c := range []struct{ name, dump, want string }{
		{"nothing", "", "counter.dot:1: the dump is cut off"},
		{"something else", "digraph G {\n", "counter.dot:1: this is not a dump of TLC"},
		{"cut between lines", dump[:strings.Index(dump, "{rank")], "the dump is cut off"},
		{"cut in a state", dump[:strings.Index(dump, ",style = filled")], "counter.dot:6: the line of a state does not end"},
		{"a state without an end", strings.Replace(dump, `{}]",style = filled]`, `{}]`, 1), "counter.dot:6: the line of a state does not end"},
		{"no value", strings.Replace(dump, "a |-> 0", "a |->", 1), "counter.dot:6: a state: at byte"},
		{"no name", strings.Replace(dump, "-5847871277914487481 [", "x [", 1), `counter.dot:6: "x" is not the name of a state`},
		{"no label", strings.Replace(dump, ` [label="Add(1)"`, ` [lobel="Add(1)"`, 1), "counter.dot:7: an edge without a label"},
		{"an odd label", strings.Replace(dump, `Add(1)`, `Add(`, 1), "counter.dot:7: a label: at byte"},
		{"an odd edge", strings.Replace(dump, `,color="black"`, ``, 2), "counter.dot:7: the line of an edge does not end"},
		{"no name before an edge", strings.Replace(dump, "-5847871277914487481 ->", "x ->", 1), `counter.dot:7: "x" is not the name of a state`},
		{"no name behind an edge", strings.Replace(dump, "-> -7712203341686528735", "-> y", 1), `counter.dot:7: "y" is not the name of a state`},
		{"cut in what is quoted", dump[:strings.Index(dump, "a |-> 0")] + `\`, "counter.dot:6: the line of a state does not end"},
		{"half a tooltip", strings.Replace(dump, `}]"];`, `}]" ;`, 1), "counter.dot:8: the line of a state does not end"},
		{"no tooltip", strings.Replace(dump, `,tooltip=`, `,tooltap=`, 1), "counter.dot:8: the line of a state does not end"},
		{"no last line", strings.TrimSuffix(strings.TrimSpace(dump), "}"), "counter.dot:18: the dump is cut off"},
		{"another last line", strings.TrimSuffix(strings.TrimSpace(dump), "}") + "]\n", "counter.dot:18: the last line should be }"},
		{"an unknown line", strings.Replace(dump, "{rank", "{rink", 1), "neither a state nor an edge"},
		{"a state less", without(dump, "-7712203341686528735 ["), "leads to the state -7712203341686528735, which is missing"},
		{"two states of one name", strings.Replace(dump, "\n5184836469349865343 [", "\n-7712203341686528735 [", 1), "two states have the name"},
		{"more at the end", dump + "\nx", "something follows the end"},
		{"a long line", strings.Replace(dump, "Add(1)", strings.Repeat("x", 1<<20), 1), "counter.dot:7: a line of more than"},
	} {
		_, err := tlc.ReadDump(strings.NewReader(c.dump), "counter.dot")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.name, err, c.want)
		}
	}
	broken := errors.New("broken")
	if _, err := tlc.ReadDump(iotest.ErrReader(broken), "f"); !errors.Is(err, broken) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// without leaves out the line that begins with a text.
func without(dump, beginning string) string {
	before, rest, _ := strings.Cut(dump, "\n"+beginning)
	_, after, _ := strings.Cut(rest, "\n")
	return before + "\n" + after
}
