package perform

import (
	"errors"
	"maps"
	"slices"

	"gaugeblock/graphtree"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Calls of graph trees. They need an allocator with two abilities, see treeOf.
var treeKinds = map[trace.OpKind]kind{
	trace.OpTreeCall:            {perform: (*machine).treeCall},
	trace.OpTreeDrop:            {perform: (*machine).treeDrop},
	trace.OpTreeMarkStep:        {perform: (*machine).treeMarkStep},
	trace.OpTreeNewGeneration:   {perform: (*machine).treeNewGeneration},
	trace.OpTreeMoveStaticInput: {perform: (*machine).treeMoveStatic},
}

// trees are the graph trees of a program: a manager for each device that a call
// names, and what the program holds of them.
type trees struct {
	generations graphtree.Generations
	managers    map[spec.Device]*treeManager
	functions   []*graphtree.Function
	outputs     map[trace.TreeOutput]*graphtree.Tensor
}

// treeManager is the trees of one device.
type treeManager struct {
	*graphtree.Manager
	stream  spec.Stream
	pool    spec.PoolID
	statics map[int]*graphtree.Tensor // by function
}

func newTrees(h *trace.Header) *trees {
	t := &trees{
		managers: map[spec.Device]*treeManager{},
		outputs:  map[trace.TreeOutput]*graphtree.Tensor{},
	}
	for i := range h.Functions {
		t.functions = append(t.functions, treeFunction(&h.Functions[i]))
	}
	return t
}

// treeFunction makes a function that does what the trace says of it.
func treeFunction(f *trace.TreeFunction) *graphtree.Function {
	made := &graphtree.Function{Mode: graphtree.Mode(slices.Index(trace.TreeModes, f.Mode))}
	first := 0
	if f.Static {
		made.Static, first = []int{0}, 1
	}
	made.Body = func(w *graphtree.Work, inputs []*graphtree.Tensor) ([]*graphtree.Tensor, error) {
		b := &treeBody{work: w, temps: map[int]*graphtree.Tensor{}, kept: map[int]*graphtree.Tensor{}}
		return b.run(f, inputs, first)
	}
	return made
}

// treeBody is a function of a trace under way.
type treeBody struct {
	work  *graphtree.Work
	temps map[int]*graphtree.Tensor
	kept  map[int]*graphtree.Tensor // inputs that will be returned
}

func (b *treeBody) run(f *trace.TreeFunction, inputs []*graphtree.Tensor, first int) (outputs []*graphtree.Tensor, err error) {
	for _, r := range f.Outputs {
		if r.Kind == trace.ResultInput && b.kept[r.Index] == nil {
			if b.kept[r.Index], err = inputs[first+r.Index].Share(); err != nil {
				return nil, err
			}
		}
	}
	for i, s := range f.Steps {
		if i == f.DropInputsAt {
			if err := releaseTensors(inputs); err != nil {
				return nil, err
			}
			inputs = nil
		}
		if err := b.step(s); err != nil {
			return nil, err
		}
	}
	if err := releaseTensors(inputs); err != nil {
		return nil, err
	}
	for _, r := range f.Outputs {
		from := b.temps
		if r.Kind == trace.ResultInput {
			from = b.kept
		}
		outputs = append(outputs, from[r.Index])
	}
	return outputs, nil
}

func (b *treeBody) step(s trace.TreeStep) (err error) {
	if s.Free {
		return b.temps[s.Temp].Release()
	}
	if b.temps[s.Temp], err = b.work.Malloc(s.Bytes); err != nil || s.Bytes == 0 {
		return err
	}
	return b.work.Fill(b.temps[s.Temp], 1)
}

func releaseTensors(tensors []*graphtree.Tensor) (err error) {
	for _, t := range tensors {
		err = errors.Join(err, t.Release())
	}
	return err
}

// treeOf finds the trees of the operation's device, or makes them.
func (m *machine) treeOf(op *trace.Op) (*treeManager, error) {
	if t := m.trees.managers[op.Device]; t != nil {
		return t, nil
	}
	allocator, able := m.allocator.(graphtree.Allocator)
	if !able {
		return nil, lacks(op.Kind, "PrivatePools and a spec.Checkpointer")
	}
	stream, err := m.gpu.CreateStream(op.Device)
	if err != nil {
		return nil, err
	}
	t := &treeManager{
		stream: stream, pool: spec.PoolID{User: 1 + uint64(op.Device)},
		statics: map[int]*graphtree.Tensor{},
	}
	t.Manager, err = graphtree.New(m.gpu, allocator, graphtree.Options{
		Device: op.Device, Stream: stream, Pool: t.pool, Generations: &m.trees.generations,
	})
	if err != nil {
		return nil, errors.Join(err, m.gpu.DestroyStream(op.Device, stream))
	}
	m.trees.managers[op.Device] = t
	return t, nil
}

func (m *machine) treeCall(op *trace.Op) error {
	t, err := m.treeOf(op)
	if err != nil {
		return err
	}
	inputs, err := m.treeInputs(t, op)
	if err != nil {
		return err
	}
	if e := op.Expect.Tree; e != nil && op.Expect.Entries == nil && op.Expect.Segments == nil {
		m.scripts[op.Device].SetPool(poolSegments(e))
	}
	outputs, err := t.Call(m.trees.functions[op.Function], inputs...)
	if err != nil {
		return err
	}
	for i, output := range outputs {
		m.trees.outputs[trace.TreeOutput{Call: op.Call, Index: i}] = output
	}
	m.out.Tree, err = m.seeTree(t, outputs)
	return err
}

// treeInputs makes the inputs of a call, each a hold for the function.
func (m *machine) treeInputs(t *treeManager, op *trace.Op) (inputs []*graphtree.Tensor, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, releaseTensors(inputs))
		}
	}()
	add := func(input *graphtree.Tensor, failure error) {
		if err = failure; err == nil {
			inputs = append(inputs, input)
		}
	}
	if m.header.Functions[op.Function].Static {
		if t.statics[op.Function] == nil {
			if t.statics[op.Function], err = t.Malloc(m.header.StaticBytes); err != nil {
				return inputs, err
			}
		}
		add(t.statics[op.Function].Share())
	}
	for _, in := range op.Inputs {
		if err != nil {
			return inputs, err
		}
		if in.Output == nil {
			add(t.Malloc(in.Fresh))
			continue
		}
		output, held := m.trees.outputs[*in.Output]
		switch {
		case !held:
			err = ErrSkipped
		case in.Consume:
			delete(m.trees.outputs, *in.Output)
			add(output, nil)
		default:
			add(output.Share())
		}
	}
	return inputs, err
}

// poolSegments is what the pool had after the recorded call. What of it the call has
// obtained from the driver is what is vacant. In which order it did so the recording does not tell.
func poolSegments(e *trace.TreeExpectation) (segments []spec.Range) {
	for i := range e.Pool {
		segments = append(segments, spec.Range{Ptr: e.Pool[i].Address, Bytes: e.Pool[i].TotalSize})
	}
	return segments
}

// seeTree looks at what a recorder would have looked at.
func (m *machine) seeTree(t *treeManager, outputs []*graphtree.Tensor) (*trace.TreeExpectation, error) {
	status := t.Status()
	e := &trace.TreeExpectation{
		State: status.State.String(), Path: status.Path, Fails: status.Fails, Checkpoints: status.Checkpoints, Roots: status.Roots,
	}
	if n := len(e.Path); n > 0 {
		e.Node = e.Path[n-1]
	}
	for _, output := range outputs {
		r, err := output.Range()
		if err != nil {
			return nil, err
		}
		e.Outputs = append(e.Outputs, r.Ptr)
	}
	snapshot, err := m.allocator.(spec.PrivatePools).SnapshotPool(t.pool)
	if err != nil {
		return nil, err
	}
	for _, g := range trace.Layout(&snapshot) {
		e.Pool = append(e.Pool, spec.Segment{Address: g.Address, TotalSize: g.TotalSize, PoolKind: g.PoolKind, Blocks: g.Blocks})
	}
	return e, nil
}

func (m *machine) treeDrop(op *trace.Op) error {
	output, held := m.trees.outputs[op.Output]
	if !held {
		return ErrSkipped
	}
	delete(m.trees.outputs, op.Output)
	return output.Release()
}

func (m *machine) treeMarkStep(*trace.Op) error {
	m.trees.generations.MarkStep()
	return nil
}

func (m *machine) treeNewGeneration(*trace.Op) error {
	m.trees.generations.NewInvocation()
	return nil
}

// treeMoveStatic puts another input in the place of a static one, which is let go
// after that, so that the two lie at different addresses.
func (m *machine) treeMoveStatic(op *trace.Op) error {
	t, err := m.treeOf(op)
	if err != nil {
		return err
	}
	old := t.statics[op.Function]
	if old == nil {
		return nil // it will be made at the first call
	}
	if t.statics[op.Function], err = t.Malloc(m.header.StaticBytes); err != nil {
		t.statics[op.Function] = old
		return err
	}
	return old.Release()
}

// close lets go of what the program holds.
func (t *trees) close(m *machine) (err error) {
	inOrder := slices.SortedFunc(maps.Keys(t.outputs), func(a, b trace.TreeOutput) int {
		return slices.Compare([]int{a.Call, a.Index}, []int{b.Call, b.Index})
	})
	for _, o := range inOrder {
		err = errors.Join(err, t.outputs[o].Release())
	}
	for _, dev := range slices.Sorted(maps.Keys(t.managers)) {
		manager := t.managers[dev]
		for _, f := range slices.Sorted(maps.Keys(manager.statics)) {
			err = errors.Join(err, manager.statics[f].Release())
		}
		err = errors.Join(err, manager.Shutdown(), m.gpu.DestroyStream(dev, manager.stream))
	}
	return err
}
