package trace

import (
	"fmt"
	"slices"
)

// Calls of CUDA graph trees.
const (
	OpTreeCall            OpKind = "call"
	OpTreeDrop            OpKind = "drop"
	OpTreeMarkStep        OpKind = "mark_step"
	OpTreeNewGeneration   OpKind = "new_generation"
	OpTreeMoveStaticInput OpKind = "move_static"
)

// treeSeen are the fields of a graph-tree-trace that say what was seen after a call. A
// call has either an error or all of them.
const treeSeen = "outputs state node path fails checkpoints roots pool"

var treeKinds = map[OpKind]kind{
	OpTreeCall: {
		target: TargetGraphTrees, memory: MemoryNone, check: (*references).checkCall, update: (*references).updateCall,
		v2: fields{"fn inputs call", "tree"}, tree: &fields{"fn inputs call", "error " + treeSeen},
		words: callInWords,
	},
	OpTreeDrop: {
		target: TargetGraphTrees, memory: MemoryNone,
		check:  func(r *references, op *Op) string { return r.wantOutput(op.Output) },
		update: func(r *references, op *Op) { delete(r.outputs, op.Output) },
		v2:     fields{"output", ""}, tree: &fields{"output", ""},
		words: func(op *Op) string {
			return fmt.Sprintf("drop output %d of call %d", op.Output.Index, op.Output.Call)
		},
	},
	OpTreeMarkStep:      {target: TargetGraphTrees, memory: MemoryNone, tree: &fields{}, words: nameOnly},
	OpTreeNewGeneration: {target: TargetGraphTrees, memory: MemoryNone, tree: &fields{}, words: nameOnly},
	OpTreeMoveStaticInput: {
		target: TargetGraphTrees, memory: MemoryNone, check: (*references).checkMove,
		v2: fields{"fn", ""}, tree: &fields{"fn", ""},
		words: func(op *Op) string { return fmt.Sprintf("move_static of function %d", op.Function) },
	},
}

func callInWords(op *Op) string {
	text := fmt.Sprintf("call %d of function %d", op.Call, op.Function)
	for i, in := range op.Inputs {
		text += []string{" with ", ", "}[min(i, 1)]
		switch {
		case in.Output == nil:
			text += SizeInWords(in.Fresh)
		case in.Consume:
			text += fmt.Sprintf("the only hold on output %d of call %d", in.Output.Index, in.Output.Call)
		default:
			text += fmt.Sprintf("output %d of call %d", in.Output.Index, in.Output.Call)
		}
	}
	return text
}

// checkFunction checks that the header has the function that an operation names.
func (r *references) checkFunction(op *Op) string {
	if n := len(r.header.Functions); op.Function >= n {
		return fmt.Sprintf("function %d, but the header has only %d functions", op.Function, n)
	}
	return ""
}

func (r *references) checkMove(op *Op) string {
	if wrong := r.checkFunction(op); wrong != "" {
		return wrong
	}
	if !r.header.Functions[op.Function].Static {
		return fmt.Sprintf("function %d has no static input", op.Function)
	}
	return ""
}

func (r *references) checkCall(op *Op) string {
	if wrong := r.checkFunction(op); wrong != "" {
		return wrong
	}
	if n := r.header.Functions[op.Function].Inputs; len(op.Inputs) != n {
		return fmt.Sprintf("%d inputs, but function %d takes %d", len(op.Inputs), op.Function, n)
	}
	if op.Call <= r.lastCall {
		return fmt.Sprintf("call %d comes after call %d", op.Call, r.lastCall)
	}
	var consumed []TreeOutput
	for _, in := range op.Inputs {
		if in.Output == nil {
			continue
		}
		if wrong := r.wantOutput(*in.Output); wrong != "" {
			return wrong
		}
		if slices.Contains(consumed, *in.Output) {
			return fmt.Sprintf("output %v is passed on twice", *in.Output)
		}
		if in.Consume {
			consumed = append(consumed, *in.Output)
		}
	}
	return ""
}

func (r *references) wantOutput(o TreeOutput) string {
	if !r.outputs[o] {
		return fmt.Sprintf("output [%d,%d] is not held", o.Call, o.Index)
	}
	return ""
}

// updateCall does what a successful call does to the outputs that are held.
func (r *references) updateCall(op *Op) {
	for _, in := range op.Inputs {
		if in.Consume {
			delete(r.outputs, *in.Output)
		}
	}
	r.lastCall = op.Call
	for i := range r.header.Functions[op.Function].Outputs {
		r.outputs[TreeOutput{op.Call, i}] = true
	}
}
