package tlc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"gaugeblock/model/digest"
)

// A dump is what TLC writes with "-dump dot,actionlabels FILE": the graph of all states in
// the language of Graphviz, a line for each state and for each edge.
//
//	strict digraph DiskGraph {
//	12 [label="/\\ x = 1\n/\\ y = {}",style = filled]      an initial state
//	12 -> -7 [label="Add(1)",color="black",fontcolor="black"];
//	-7 [label="/\\ x = 2...",tooltip="/\\ x = 2..."];      any other
//	{rank = same; 12;}                                      ignored
//	}
//
// States are named by their fingerprints. An edge may be there several times, and before
// the state that it leads to.

// A Dump is the counts and digests of a state graph.
type Dump struct {
	States, Edges           int // distinct
	StateDigest, EdgeDigest string
}

// maxLine is the longest line of a state or an edge, in bytes.
const maxLine = 1 << 20

// ReadDump reads a dump to its end. It keeps a few dozen bytes for each state and edge.
// The name of the file is for errors, which are of type *SyntaxError if the text is no
// dump.
func ReadDump(r io.Reader, file string) (Dump, error) {
	d := dumpReader{
		in: bufio.NewReaderSize(r, maxLine), file: file,
		numbers: map[int64]uint32{}, labels: map[string]uint32{},
	}
	err := d.read()
	if err == nil {
		err = d.complete()
	}
	if err != nil {
		return Dump{}, err
	}
	sums := d.edgeSums()
	return Dump{
		States: len(digest.Distinct(d.sums)), Edges: len(sums),
		StateDigest: digest.Of(d.sums), EdgeDigest: digest.Of(sums),
	}, nil
}

type dumpReader struct {
	in   *bufio.Reader
	file string
	line int

	numbers   map[int64]uint32 // of states, by fingerprint
	known     []bool           // by state: its own line was there
	sums      []digest.Sum
	labels    map[string]uint32
	labelSums []digest.Sum
	edges     [][3]uint32 // from, label, to

	text, canonical []byte // for reuse
}

var dumpHead = []string{
	`strict digraph DiskGraph {`,
	`node [shape=box,style=rounded]`,
	`nodesep=0.35;`,
	`subgraph cluster_graph {`,
	`color="white";`,
}

func (d *dumpReader) fail(format string, args ...any) error {
	return &SyntaxError{d.file, d.line, fmt.Sprintf(format, args...)}
}

func (d *dumpReader) read() error {
	for _, want := range dumpHead {
		line, err := d.next()
		if err != nil {
			return err
		}
		if string(line) != want {
			return d.fail("this is not a dump of TLC: this line should be %q", want)
		}
	}
	for {
		line, err := d.next()
		switch {
		case err != nil:
			return err
		case string(line) == "}": // of the graph in the graph
			return d.tail()
		case bytes.HasPrefix(line, []byte("{rank = same;")):
		case bytes.Contains(line[:min(len(line), 48)], []byte(" -> ")):
			err = d.edge(line)
		default:
			err = d.state(line)
		}
		if err != nil {
			return err
		}
	}
}

// tail reads the last line.
func (d *dumpReader) tail() error {
	line, err := d.next()
	if err == nil && string(line) != "}" {
		err = d.fail("the last line should be }")
	}
	if err != nil {
		return err
	}
	if _, err := d.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		return d.fail("something follows the end")
	}
	return nil
}

// next is the next line. The dump must not end here. Lines that list the states of a level
// are truncated: they can be of any length.
func (d *dumpReader) next() ([]byte, error) {
	d.line++
	line, err := d.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		if !bytes.HasPrefix(line, []byte("{rank = same;")) {
			return nil, d.fail("a line of more than %d bytes", maxLine)
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = d.in.ReadSlice('\n')
		}
		line = []byte("{rank = same;")
	}
	switch {
	case errors.Is(err, io.EOF) && len(line) == 0:
		return nil, fmt.Errorf("%s:%d: the dump is cut off: %w", d.file, d.line, io.ErrUnexpectedEOF)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s:%d: %w", d.file, d.line, err)
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// number is the number of a state.
func (d *dumpReader) number(name []byte) (uint32, error) {
	fingerprint, err := strconv.ParseInt(string(name), 10, 64)
	if err != nil {
		return 0, d.fail("%q is not the name of a state", name)
	}
	n, found := d.numbers[fingerprint]
	if !found {
		n = uint32(len(d.sums))
		d.numbers[fingerprint] = n
		d.sums = append(d.sums, digest.Sum{})
		d.known = append(d.known, false)
	}
	return n, nil
}

// state reads: NAME [label="TEXT",...
func (d *dumpReader) state(line []byte) error {
	name, rest, found := bytes.Cut(line, []byte(` [label="`))
	if !found {
		return d.fail("neither a state nor an edge")
	}
	number, err := d.number(name)
	if err != nil {
		return err
	}
	rest, ok := d.unquote(rest)
	same := bytes.HasPrefix(rest, []byte(`,tooltip="`)) && bytes.HasSuffix(rest, []byte(`"];`))
	if !ok || !same && string(rest) != ",style = filled]" {
		return d.fail("the line of a state does not end as it should")
	}
	if d.canonical, err = CanonicalState(d.canonical[:0], d.text); err != nil {
		return d.fail("a state: %v", err)
	}
	sum := digest.Text(d.canonical)
	if d.known[number] && d.sums[number] != sum {
		return d.fail("two states have the name %s", name)
	}
	d.known[number], d.sums[number] = true, sum
	return nil
}

// edge reads: NAME -> NAME [label="LABEL",...
func (d *dumpReader) edge(line []byte) error {
	from, rest, _ := bytes.Cut(line, []byte(" -> "))
	to, rest, found := bytes.Cut(rest, []byte(` [label="`))
	if !found {
		return d.fail("an edge without a label")
	}
	rest, ok := d.unquote(rest)
	if !ok || string(rest) != `,color="black",fontcolor="black"];` {
		return d.fail("the line of an edge does not end as it should")
	}
	var edge [3]uint32
	var err error
	if edge[0], err = d.number(from); err != nil {
		return err
	}
	if edge[2], err = d.number(to); err != nil {
		return err
	}
	if edge[1], err = d.label(); err != nil {
		return err
	}
	d.edges = append(d.edges, edge)
	return nil
}

// label is the number of the label in d.text.
func (d *dumpReader) label() (number uint32, err error) {
	if n, known := d.labels[string(d.text)]; known {
		return n, nil
	}
	if d.canonical, err = CanonicalLabel(d.canonical[:0], d.text); err != nil {
		return 0, d.fail("a label: %v", err)
	}
	number = uint32(len(d.labelSums))
	d.labels[string(d.text)] = number
	d.labelSums = append(d.labelSums, digest.Text(d.canonical))
	return number, nil
}

// unquote decodes a quoted text into d.text, and returns what follows the closing
// quotation mark.
func (d *dumpReader) unquote(quoted []byte) (rest []byte, ok bool) {
	d.text = d.text[:0]
	for i := 0; i < len(quoted); i++ {
		c := quoted[i]
		switch {
		case c == '"':
			return quoted[i+1:], true
		case c != '\\':
		case i+1 == len(quoted):
			return nil, false
		default:
			i++
			if c = quoted[i]; c == 'n' {
				c = '\n'
			}
		}
		d.text = append(d.text, c)
	}
	return nil, false
}

// complete: every state that an edge names must have been there.
func (d *dumpReader) complete() error {
	var missing []int64 // states that are in edges only
	for name, number := range d.numbers {
		if !d.known[number] {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%s: an edge leads to the state %d, which is missing", d.file, slices.Min(missing))
}

func (d *dumpReader) edgeSums() []digest.Sum {
	sums := make([]digest.Sum, len(d.edges))
	for i, e := range d.edges {
		sums[i] = digest.Edge(d.sums[e[0]], d.labelSums[e[1]], d.sums[e[2]])
	}
	return digest.Distinct(sums)
}
