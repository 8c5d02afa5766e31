package graphtree

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/graphtree"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tests/earlyreuse"
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
			"round":      p.round,
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
	rounds      [][]turn
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
	p.allocator = &careful{Allocator: earlyreuse.New(a, p.gpu).(graphtree.Allocator), t: t}
	stream, err := p.gpu.CreateStream(0)
	must(t, err)
	p.manager, err = graphtree.New(p.gpu, p.allocator, graphtree.Options{Stream: stream, Pool: pool, Generations: &p.generations})
	must(t, err)
	for range rapid.IntRange(1, 4).Draw(t, "functions") {
		p.functions = append(p.functions, p.newFunction(t))
	}
	for range rapid.IntRange(1, 3).Draw(t, "rounds") {
		p.rounds = append(p.rounds, p.drawRound(t))
	}
	return p
}

func must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// call calls any function with anything.
func (p *program) call(t *rapid.T) {
	f := p.functions[rapid.IntRange(0, len(p.functions)-1).Draw(t, "function")]
	p.callFunction(t, f, [2]choice{drawChoice(t), drawChoice(t)})
}

// callFunction calls a function with what the program holds, or with new memory.
func (p *program) callFunction(t *rapid.T, f *function, choices [2]choice) (returned []*output) {
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
	for i := range f.inputs {
		input, content := p.input(t, choices[i])
		inputs, contents = append(inputs, input), append(contents, content)
	}
	outputs, err := p.manager.Call(f.Function, inputs...)
	if err != nil {
		p.expectable(t, err)
		return nil
	}
	p.pending = f.Mode == graphtree.Forward || p.pending && f.Mode != graphtree.Backward
	for i, r := range f.results {
		o := &output{outputs[i], int(number), true}
		if r.Kind == trace.ResultInput {
			o.content = contents[r.Index]
		}
		returned = append(returned, o)
	}
	p.held = append(p.held, returned...)
	return returned
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
func (p *program) input(t *rapid.T, c choice) (*graphtree.Tensor, int) {
	var usable []int
	for i, o := range p.held {
		if r, err := o.tensor.Range(); err == nil && r.Bytes == 1000 {
			usable = append(usable, i)
		}
	}
	if len(usable) > 0 && c.held {
		i := usable[c.which%len(usable)]
		o := p.held[i]
		if c.give {
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
	p.dropOutput(t, rapid.SampledFrom(p.held).Draw(t, "which"))
}

func (p *program) dropOutput(t *rapid.T, o *output) {
	must(t, o.tensor.Release())
	i := slices.Index(p.held, o)
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
	must(t, p.gpu.FailCall(call, 1, fakegpu.UnknownError(call)))
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
	if layout := trace.Layout(&snapshot); len(layout) > 0 {
		t.Fatalf("memory is left: %+v", layout)
	}
}
