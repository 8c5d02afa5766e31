package graphtree

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/alloc"
	"gaugeblock/alloc/graphtree"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/tests/watch"
)

// TestRandomPrograms runs programs that call functions, keep and drop what they
// return, begin steps and invocations, and meet failures of the driver, on a device
// that does work as late or in as odd an order as it likes. Of what is looked at after
// each operation see program.check.
//
// Each call gets an input that is filled with the number of the call, which the
// function copies to all that it makes. So what memory holds says whose it is.
func TestRandomPrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newProgram(t)
		t.Repeat(map[string]func(*rapid.T){
			"call":       p.call,
			"drop":       p.drop,
			"drop all":   p.dropAll,
			"step":       p.step,
			"invocation": p.invocation,
			"fault":      p.fault,
			"":           p.check,
		})
		p.end(t)
	})
}

// program is a random program and what it knows.
type program struct {
	gpu         *fakegpu.GPU
	allocator   *careful
	manager     *graphtree.Manager
	generations graphtree.Generations
	functions   []*function
	held        []*output
	calls       int

	// What the rules say of generations, told once more.
	marked, pending, begun bool // begun: a generation, since the last call
}

// output is a tensor that the program holds.
type output struct {
	tensor  *graphtree.Tensor
	content int  // what the program knows to be there, or unknown
	current bool // no generation has begun since that might take it
}

// function is a random function and a static input for it.
type function struct {
	*graphtree.Function
	static  *graphtree.Tensor
	results []spec.TreeResult
	sizes   []uint64 // of the temporaries; those that are not returned are freed at once
	late    bool     // it lets its inputs go at the end, not at the beginning
	inputs  int      // beside the static one and that with the number
}

// unknown: the memory may have been given to a later run before it was copied.
const unknown = -1

const numberBytes = 600 // of the input with the number; the copies are as long at most

func newProgram(t *rapid.T) *program {
	schedules := map[string]fakegpu.Schedule{
		"at once": nil, "lazy": fakegpu.Lazy(), "random": fakegpu.Random(rapid.Uint64().Draw(t, "schedule seed")),
	}
	p := &program{gpu: fakegpu.New(fakegpu.Config{
		Devices:  fakegpu.Devices(1, spec.GiB),
		Schedule: schedules[rapid.SampledFrom([]string{"at once", "lazy", "random"}).Draw(t, "schedule")],
	})}
	settings := rapid.SampledFrom([]string{"", "expandable_segments:True"}).Draw(t, "settings")
	a, err := alloc.New(p.gpu, alloc.Options{Settings: settings})
	must(t, err)
	p.allocator = &careful{Allocator: watch.New(a, p.gpu).(graphtree.Allocator), t: t}
	stream, err := p.gpu.CreateStream(0)
	must(t, err)
	p.manager, err = graphtree.New(p.gpu, p.allocator, graphtree.Options{Stream: stream, Pool: pool, Generations: &p.generations})
	must(t, err)
	for range rapid.IntRange(1, 4).Draw(t, "functions") {
		p.functions = append(p.functions, p.newFunction(t))
	}
	return p
}

func must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p *program) newFunction(t *rapid.T) *function {
	f := &function{
		inputs: rapid.IntRange(0, 2).Draw(t, "inputs"),
		sizes:  rapid.SliceOfN(rapid.SampledFrom([]uint64{512, 1000, 4096, 100_000, 700_000, 1_500_000, 3_000_000}), 1, 5).Draw(t, "sizes"),
		late:   rapid.Bool().Draw(t, "late"),
	}
	f.Function = &graphtree.Function{
		Name: fmt.Sprintf("f%d", len(p.functions)),
		Mode: rapid.SampledFrom([]graphtree.Mode{graphtree.Inference, graphtree.Inference, graphtree.Forward, graphtree.Backward}).Draw(t, "mode"),
		Body: f.run,
	}
	if rapid.IntRange(0, 3).Draw(t, "static") == 0 {
		f.Static = []int{1}
		var err error
		f.static, err = p.manager.Malloc(4096)
		must(t, err)
	}
	for range rapid.IntRange(1, 4).Draw(t, "outputs") {
		r := spec.TreeResult{Kind: spec.ResultNew, Index: rapid.IntRange(0, len(f.sizes)-1).Draw(t, "temporary")}
		if f.inputs > 0 && rapid.IntRange(0, 3).Draw(t, "alias") == 0 {
			r = spec.TreeResult{Kind: spec.ResultInput, Index: rapid.IntRange(0, f.inputs-1).Draw(t, "input")}
		}
		f.results = append(f.results, r)
	}
	return f
}

// returns reports whether an output is that temporary or input.
func (f *function) returns(r spec.TreeResult) bool { return slices.Contains(f.results, r) }

// run is the function's body. What is not returned is overwritten and freed.
func (f *function) run(w *graphtree.Work, inputs []*graphtree.Tensor) (outputs []*graphtree.Tensor, err error) {
	number := inputs[0]
	rest := inputs[len(inputs)-f.inputs:]
	letGo := func() error {
		for i, t := range rest {
			if !f.returns(spec.TreeResult{Kind: spec.ResultInput, Index: i}) {
				if err := t.Release(); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if !f.late {
		if err := letGo(); err != nil {
			return nil, err
		}
	}
	temps := make([]*graphtree.Tensor, len(f.sizes))
	for i, size := range f.sizes {
		if temps[i], err = w.Malloc(size); err != nil {
			return nil, err
		}
		if f.returns(spec.TreeResult{Kind: spec.ResultNew, Index: i}) {
			err = w.Copy(temps[i], number)
		} else {
			err = errors.Join(w.Fill(temps[i], 0xff), temps[i].Release())
		}
		if err != nil {
			return nil, err
		}
	}
	if f.late {
		if err := letGo(); err != nil {
			return nil, err
		}
	}
	for _, r := range f.results {
		from := temps
		if r.Kind == spec.ResultInput {
			from = rest
		}
		outputs = append(outputs, from[r.Index])
	}
	return outputs, nil
}

// call calls a function with what the program holds, or with new memory.
func (p *program) call(t *rapid.T) {
	f := p.functions[rapid.IntRange(0, len(p.functions)-1).Draw(t, "function")]
	p.calls++
	number := byte(p.calls%250 + 1)
	fresh, err := p.manager.Malloc(numberBytes)
	must(t, err)
	r, err := fresh.Range()
	must(t, err)
	must(t, p.gpu.Fill(0, 0, r, number))
	p.ageOutputs()
	inputs, contents := []*graphtree.Tensor{fresh}, []int{}
	if f.static != nil {
		share, err := f.static.Share()
		must(t, err)
		inputs = append(inputs, share)
	}
	for range f.inputs {
		input, content := p.input(t)
		inputs, contents = append(inputs, input), append(contents, content)
	}
	outputs, err := p.manager.Call(f.Function, inputs...)
	if err != nil {
		p.expectable(t, err)
		return
	}
	p.pending = f.Mode == graphtree.Forward || p.pending && f.Mode != graphtree.Backward
	for i, r := range f.results {
		o := &output{outputs[i], int(number), true}
		if r.Kind == spec.ResultInput {
			o.content = contents[r.Index]
		}
		p.held = append(p.held, o)
	}
}

// ageOutputs says which outputs the next call may take the memory of.
func (p *program) ageOutputs() {
	if p.begun && (p.marked || !p.pending) {
		for _, o := range p.held {
			o.current, o.content = false, unknown
		}
	}
	p.begun = false
}

// input is something to pass to a function. All of it is as long, since a function
// that was recorded takes inputs of one size only.
func (p *program) input(t *rapid.T) (*graphtree.Tensor, int) {
	var usable []int
	for i, o := range p.held {
		if r, err := o.tensor.Range(); err == nil && r.Bytes == 1000 {
			usable = append(usable, i)
		}
	}
	if len(usable) > 0 && rapid.IntRange(0, 3).Draw(t, "held") > 0 {
		i := rapid.SampledFrom(usable).Draw(t, "input")
		o := p.held[i]
		if rapid.IntRange(0, 3).Draw(t, "give") == 0 {
			p.held = slices.Delete(p.held, i, i+1)
			return o.tensor, o.content
		}
		share, err := o.tensor.Share()
		must(t, err)
		return share, o.content
	}
	fresh, err := p.manager.Malloc(1000)
	must(t, err)
	r, err := fresh.Range()
	must(t, err)
	must(t, p.gpu.Fill(0, 0, r, 0xee))
	return fresh, 0xee
}

// expectable accepts the errors that such a program has to expect.
func (p *program) expectable(t *rapid.T, err error) {
	var driver *spec.DriverError
	var state *spec.InvalidStateError
	if !errors.As(err, &driver) && !errors.As(err, &state) {
		t.Fatal(err)
	}
}

func (p *program) drop(t *rapid.T) {
	if len(p.held) == 0 {
		t.Skip("nothing is held")
	}
	i := rapid.IntRange(0, len(p.held)-1).Draw(t, "which")
	must(t, p.held[i].tensor.Release())
	p.held = slices.Delete(p.held, i, i+1)
}

func (p *program) dropAll(t *rapid.T) {
	for _, o := range p.held {
		must(t, o.tensor.Release())
	}
	p.held = nil
}

func (p *program) step(*rapid.T) {
	p.generations.MarkStep()
	p.marked, p.begun = true, true
}

func (p *program) invocation(*rapid.T) {
	p.generations.NewInvocation()
	p.begun = p.begun || !p.marked
}

// fault makes a call of the driver fail that the next operations may come to.
func (p *program) fault(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "really") > 0 || p.gpu.PendingFaults() > 0 {
		t.Skip("not now")
	}
	call := rapid.SampledFrom([]string{"BeginCapture", "EndCapture", "Instantiate", "LaunchGraph", "CaptureStatus", "Copy", "WaitEvent"}).Draw(t, "call")
	must(t, p.gpu.Inject(spec.FaultSpec{Call: call, Nth: 1, Error: "unknown"}))
}

// check looks at what has to be true after any operation.
func (p *program) check(t *rapid.T) {
	for _, o := range p.held {
		if o.current && o.content != unknown {
			p.untouched(t, o)
		}
	}
	for _, h := range p.gpu.Hazards() {
		if h.Kind == fakegpu.Unordered || h.Kind == fakegpu.Returned || h.Kind == fakegpu.GivenTwice {
			t.Fatal(h)
		}
	}
	for _, v := range p.gpu.Violations() {
		t.Fatal(v)
	}
	p.poolIsLive(t)
	p.poolIsSmall(t)
}

// poolIsSmall: however many recordings there are, the pool is as large as the path
// that needs most, but for what cannot be used because of how it is cut up. That
// may be a segment of each kind, and half of what is needed.
func (p *program) poolIsSmall(t *rapid.T) {
	snapshot, err := p.allocator.SnapshotPool(pool)
	must(t, err)
	reserved := uint64(0)
	for _, g := range snapshot.Segments {
		reserved += g.TotalSize
	}
	g := spec.DefaultGeometry()
	if need := p.allocator.need; reserved > need+need/2+g.SmallBuffer+g.LargeBuffer {
		t.Fatalf("the pool has %d bytes, and never more than %d were needed", reserved, need)
	}
}

// untouched: nobody has written to an output that the program still holds.
func (p *program) untouched(t *rapid.T, o *output) {
	r, err := o.tensor.Range()
	if err != nil {
		t.Fatalf("an output of this generation, held all the time: %v", err)
	}
	r.Bytes = min(r.Bytes, numberBytes)
	got, err := p.gpu.ReadBack(0, 0, r)
	must(t, err)
	for i, b := range got {
		if int(b) != o.content {
			t.Fatalf("byte %d of the output at %v is %d, not %d: somebody has written there; %+v", i, r.Ptr, b, o.content, p.manager.Status())
		}
	}
}

// poolIsLive: while the allocator follows what happens, exactly the outputs that are
// held are allocated in the pool.
func (p *program) poolIsLive(t *rapid.T) {
	if state := p.manager.Status().State; state != graphtree.WarmUp && state != graphtree.Recording {
		return
	}
	var live []spec.Ptr
	for _, o := range p.held {
		if p.manager.Holds(o.tensor) {
			r, err := o.tensor.Range()
			must(t, err)
			live = append(live, r.Ptr)
		}
	}
	same, err := p.allocator.CheckPoolLiveAllocations(0, pool, live)
	must(t, err)
	if !same {
		snapshot, _ := p.allocator.SnapshotPool(pool)
		t.Fatalf("the pool's blocks are not those of the outputs that are held, %v: %+v", live, snapshot.Layout())
	}
}

// end gives everything up: nothing may be left.
func (p *program) end(t *rapid.T) {
	p.dropAll(t)
	for _, f := range p.functions {
		if f.static != nil {
			must(t, f.static.Release())
		}
	}
	if p.gpu.PendingFaults() > 0 {
		return
	}
	must(t, p.manager.Shutdown())
	must(t, p.allocator.EmptyCache())
	snapshot, err := p.allocator.Snapshot()
	must(t, err)
	if layout := snapshot.Layout(); len(layout) > 0 {
		t.Fatalf("memory is left: %+v", layout)
	}
}

// careful is an allocator whose restores are looked at: the pool must then have the
// allocated blocks that it had at the checkpoint. It also notes how much of the pool
// was allocated at the same time at most.
type careful struct {
	graphtree.Allocator
	t    *rapid.T
	need uint64 // bytes
}

func (c *careful) Malloc(r spec.Request) (spec.Ptr, error) {
	p, err := c.Allocator.Malloc(r)
	sum := uint64(0)
	for _, b := range c.allocated(pool) {
		sum += b.Size
	}
	c.need = max(c.need, sum)
	return p, err
}

type remembered struct {
	spec.PoolState
	blocks []spec.LayoutBlock
}

func (c *careful) Checkpoint(dev spec.Device, id spec.PoolID) (spec.PoolState, error) {
	state, err := c.Allocator.Checkpoint(dev, id)
	if err != nil {
		return nil, err
	}
	return &remembered{state, c.allocated(id)}, nil
}

func (c *careful) Restore(dev spec.Device, state spec.PoolState) (spec.RestoreDelta, error) {
	r := state.(*remembered)
	delta, err := c.Allocator.Restore(dev, r.PoolState)
	if got := c.allocated(r.PoolID()); err == nil && !slices.Equal(got, r.blocks) {
		c.t.Fatalf("restored %v, and there was %v", got, r.blocks)
	}
	return delta, err
}

// allocated is the pool's allocated blocks, without what was requested.
func (c *careful) allocated(id spec.PoolID) (blocks []spec.LayoutBlock) {
	snapshot, err := c.Allocator.SnapshotPool(id)
	must(c.t, err)
	for _, g := range snapshot.Layout() {
		for _, b := range g.Blocks {
			if b.State == spec.ActiveAllocated {
				b.Requested = 0
				blocks = append(blocks, b)
			}
		}
	}
	return blocks
}
