package trace

import (
	"fmt"

	"gaugeblock/spec"
)

// Graph trees in traces. Version 2 has the functions in its header and what was
// seen after a call in a field "tree" of the call. The recorder of PyTorch's trees
// writes a format of its own, graph-tree-trace, in which these fields stand in the
// call itself, under names that mean other things elsewhere ("state", "pool"). It
// is read here too; what is written is version 2.

// TreeFormat is Header.Format of a recording of PyTorch's graph trees.
const TreeFormat = "graph-tree-trace"

// Such a recording says nothing of the device that it came from, and the older ones
// nothing of the size of static inputs.
const (
	treeTotalMemory = 80 * spec.GiB
	treeStaticBytes = 5000
)

const (
	stepForm   = "a step [\"alloc\", temporary, bytes] or [\"free\", temporary]"
	resultForm = "an output [kind, index]"
)

func readStep(c *jsonCursor) (s TreeStep) {
	c.open('[', stepForm)
	c.item(stepForm)
	s.Free = c.oneOf("alloc", "free") == 1
	c.item(stepForm)
	s.Temp = int(c.size())
	if !s.Free {
		c.item(stepForm)
		s.Bytes = c.size()
	}
	c.noMore(stepForm)
	return s
}

func appendStep(b []byte, s TreeStep) []byte {
	if s.Free {
		return append(appendWhole(append(b, `["free",`...), s.Temp), ']')
	}
	b = appendWhole(append(b, `["alloc",`...), s.Temp)
	return append(appendWhole(append(b, ','), s.Bytes), ']')
}

var resultKinds = []string{ResultNew, ResultSame, ResultInput}

func readResult(c *jsonCursor) (r TreeResult) {
	c.open('[', resultForm)
	c.item(resultForm)
	r.Kind = resultKinds[c.oneOf(resultKinds...)]
	c.item(resultForm)
	r.Index = int(c.size())
	c.noMore(resultForm)
	return r
}

func appendResult(b []byte, r TreeResult) []byte {
	b = appendText(append(b, '['), r.Kind)
	return append(appendWhole(append(b, ','), r.Index), ']')
}

var functionTable = newJSONTable("a function", []jsonMember[TreeFunction]{
	wholeMember("inputs", func(f *TreeFunction) *int { return &f.Inputs }),
	listMember("input_sizes", func(f *TreeFunction) *[]uint64 { return &f.InputSizes }, (*jsonCursor).size, appendWhole[uint64]),
	flagMember("static", func(f *TreeFunction) *bool { return &f.Static }),
	listMember("steps", func(f *TreeFunction) *[]TreeStep { return &f.Steps }, readStep, appendStep),
	listMember("outputs", func(f *TreeFunction) *[]TreeResult { return &f.Outputs }, readResult, appendResult),
	wholeMember("drop_inputs_at", func(f *TreeFunction) *int { return &f.DropInputsAt }),
	wordMember("mode", func(f *TreeFunction) *string { return &f.Mode }, TreeModes...),
})

var functionMust = functionTable.all() &^ functionTable.set("input_sizes")

func readFunction(c *jsonCursor) (f TreeFunction) {
	functionTable.readWhole(c, &f, functionMust)
	if wrong := f.check(); wrong != "" {
		c.fail("%s", wrong)
	}
	return f
}

func appendFunction(b []byte, f TreeFunction) []byte {
	return functionTable.write(b, &f, functionMust, functionTable.all())
}

// check says what makes no sense in a function, "" if nothing does.
func (f *TreeFunction) check() string {
	if f.InputSizes != nil && len(f.InputSizes) != f.Inputs {
		return fmt.Sprintf(`%d "input_sizes" for %d inputs`, len(f.InputSizes), f.Inputs)
	}
	if f.DropInputsAt > len(f.Steps) {
		return fmt.Sprintf(`"drop_inputs_at" is %d, and there are only %d steps`, f.DropInputsAt, len(f.Steps))
	}
	out := map[int]bool{}
	for i, s := range f.Steps {
		if s.Free != out[s.Temp] {
			return fmt.Sprintf("step %d: temporary %d", i, s.Temp) + map[bool]string{true: " is not allocated", false: " is allocated already"}[s.Free]
		}
		out[s.Temp] = !s.Free
	}
	for i, r := range f.Outputs {
		switch {
		case r.Kind == ResultInput && r.Index >= f.Inputs:
			return fmt.Sprintf("output %d: input %d, and there are only %d", i, r.Index, f.Inputs)
		case r.Kind != ResultInput && !out[r.Index]:
			return fmt.Sprintf("output %d: temporary %d is not allocated at the end", i, r.Index)
		}
	}
	return ""
}

var treeStates = []string{"NONE", "WARMUP", "RECORDING", "EXECUTION"}

func readAddress(c *jsonCursor) spec.Ptr { return spec.Ptr(c.unsigned()) }
func readNumber(c *jsonCursor) int       { return int(c.signed()) }
func readCount(c *jsonCursor) int        { return int(c.size()) }

var poolSegmentMust = segmentTable.set("addr size type blocks")

var treeTable = newJSONTable("what was seen of a tree", []jsonMember[TreeExpectation]{
	listMember("outputs", func(e *TreeExpectation) *[]spec.Ptr { return &e.Outputs }, readAddress, appendWhole[spec.Ptr]),
	wordMember("state", func(e *TreeExpectation) *string { return &e.State }, treeStates...),
	{
		name:   "node",
		read:   func(c *jsonCursor, e *TreeExpectation) { e.Node = readNumber(c) },
		append: func(b []byte, e *TreeExpectation) []byte { return appendWhole(b, e.Node) },
		absent: func(e *TreeExpectation) bool { return e.Node == 0 },
	},
	listMember("path", func(e *TreeExpectation) *[]int { return &e.Path }, readNumber, appendWhole[int]),
	wholeMember("fails", func(e *TreeExpectation) *int { return &e.Fails }),
	wholeMember("checkpoints", func(e *TreeExpectation) *int { return &e.Checkpoints }),
	listMember("roots", func(e *TreeExpectation) *[]int { return &e.Roots }, readCount, appendWhole[int]),
	listMember("pool", func(e *TreeExpectation) *[]spec.Segment { return &e.Pool },
		func(c *jsonCursor) (g spec.Segment) {
			segmentTable.readWhole(c, &g, poolSegmentMust)
			return g
		},
		func(b []byte, g spec.Segment) []byte { return segmentTable.write(b, &g, poolSegmentMust, 0) }),
})

func readTree(c *jsonCursor) *TreeExpectation {
	e := &TreeExpectation{}
	treeTable.readWhole(c, e, treeTable.all())
	return e
}

func appendTree(b []byte, e *TreeExpectation) []byte {
	return treeTable.write(b, e, treeTable.all(), 0)
}

// treeLineTable is the lines of a graph-tree-trace: what was seen stands in the
// line, and an error is a sentence. It is for reading only.
var treeLineTable = newTreeLineTable()

func newTreeLineTable() *jsonTable[traceLine] {
	var members []jsonMember[traceLine]
	for _, name := range []string{"op", "fn", "call", "inputs", "output"} {
		members = append(members, lineTable.members[lineTable.byName[name]])
	}
	members = append(members, textMember("error", func(l *traceLine) *string { return &l.op.Expect.Message }))
	for _, m := range treeTable.members {
		members = append(members, jsonMember[traceLine]{name: m.name, read: func(c *jsonCursor, l *traceLine) {
			if l.op.Expect.Tree == nil {
				l.op.Expect.Tree = &TreeExpectation{}
			}
			m.read(c, l.op.Expect.Tree)
		}})
	}
	return newJSONTable("a line", members)
}

// parseTreeLine reads a line of a graph-tree-trace. It says what is wrong, "" if
// nothing is.
func parseTreeLine(text []byte) (l *traceLine, wrong string) {
	l = &traceLine{}
	c := &jsonCursor{line: text}
	seen := treeLineTable.read(c, l)
	c.end()
	if c.failed() {
		return nil, c.reason
	}
	kind := l.op.Kind
	if kind == "" {
		return nil, `a line without "op"`
	}
	own := kinds[kind].tree // readKind knows the kind
	if own == nil {
		return nil, fmt.Sprintf("operation %q is not in the format %s", kind, TreeFormat)
	}
	must := treeLineTable.set("op " + own.must)
	may := must | treeLineTable.set(own.may)
	if kind == OpTreeCall && l.op.Expect.Message == "" {
		must |= treeLineTable.set(treeSeen)
	}
	switch stray, missing := treeLineTable.first(seen&^may), treeLineTable.first(must&^seen); {
	case stray != "":
		return nil, fmt.Sprintf("field %q does not belong to %s", stray, kind)
	case missing != "":
		return nil, fmt.Sprintf("%s without %q", kind, missing)
	}
	if l.op.Expect.Message != "" {
		// Upstream raises errors of several kinds; all of them are about memory that
		// is, or would be, overwritten.
		l.op.Expect.Error, l.op.Expect.Tree = ErrorInvalidState, nil
	}
	return l, ""
}
