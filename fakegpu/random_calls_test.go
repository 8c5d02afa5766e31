package fakegpu

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gaugeblock/internal/kept"
	"gaugeblock/spec"
)

// TestRandomCalls: what random programs of all calls are answered stays as it was. Of each ten calls the file has the
// last one in words, and a checksum of all that was said.
func TestRandomCalls(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(32) {
		p := newRandomProgram(seed)
		for i := range 40 {
			p.said = nil
			for range 10 {
				p.call()
			}
			fmt.Fprintf(&out, "%d.%d %s %s\n", seed, i, kept.Sum(p.said), p.said[len(p.said)-1])
		}
		fmt.Fprintf(&out, "%d end %s\n", seed, kept.Sum(p.end()))
	}
	kept.Compare(t, "testdata/random_calls", out.String())
}

// notAsked are methods that say nothing, or that other tests call with what they need.
var notAsked = []string{"DetectorSize", "Exit", "ExpectManyStreams", "FailCall", "MakeHandle", "OnMemoryCall", "SetCallers", "SetLateMemory", "UseScript", "WithoutEffects"}

// rarelyAsked are methods that change how a whole program goes.
var rarelyAsked = []string{
	"BoundQueries", "DestroyGraph", "DestroyStream", "DrainAll", "ExpectStrangers", "Freed", "Inject", "ReportRaces",
	"SecondHandleIsCounted", "SetAllBlocking", "SetFreeMemory",
}

// oftenAsked are methods that others need, or that find what others leave.
var oftenAsked = []string{
	"AddHostArea", "BeginCapture", "BeginLifetime", "Copy", "CopyIn", "CopyOut", "CreateEvent", "CreatePage", "CreateStream", "CreateTimedEvent", "DependOn", "EndCapture", "EndLifetime", "Fill", "GraphNodes",
	"HostFunction", "Instantiate", "Launch", "LaunchGraph", "LaunchOn", "LaunchSized", "LoggedStream", "Malloc", "MallocInCapture", "MapPage", "QueryEvent", "ReadBack",
	"RecordEvent", "ReserveAddress", "SetAccess", "ShareEvent", "ShareMemory", "WaitEvent",
}

// mostAsked are methods that give streams work and put it in order.
var mostAsked = []string{"Launch", "LaunchGraph", "RecordEvent", "WaitEvent"}

// A randomProgram makes random calls in two processes. Its values are what calls have answered.
type randomProgram struct {
	*rand.Rand
	both                 []*GPU
	methods, often, rare []reflect.Method
	values               map[valuesOf][]reflect.Value
	first                spec.Ptr // that was answered
	in                   int      // the process of the present call
	said                 []string
	mayFail              bool // the present call has an error to give
}

// valuesOf are values of a type. But for the bytes that name what is shared they are a process's own.
type valuesOf struct {
	process int
	of      reflect.Type
}

func (p *randomProgram) valuesOf(of reflect.Type) valuesOf {
	if of.Kind() == reflect.Slice {
		return valuesOf{0, of}
	}
	return valuesOf{p.in, of}
}

// newRandomProgram has a machine with some of what can be configured, by the bits of a seed.
func newRandomProgram(seed uint64) *randomProgram {
	p := &randomProgram{Rand: rand.New(rand.NewPCG(seed, 374001)), values: map[valuesOf][]reflect.Value{}}
	c := Config{
		Devices: Devices(2, 64*512), PageGranularity: 512, Hazards: seed%8 < 5, Races: seed%8 < 2, NoPeerAccess: seed%16 == 7,
		FreeWaits: seed%3 == 0, BlockingStreams: seed%5 == 0,
		Schedule: []Schedule{nil, Lazy(), Random(seed), ByTime(allDurations())}[seed/4%4],
	}
	if seed%8 == 6 {
		c.HostMemory = plainHost{}
	}
	if policies := []func(spec.Device) AddressPolicy{nil, nil, RealLike, ProcessLike}; c.HostMemory == nil {
		c.Addresses = policies[seed/3%4]
	}
	if seed%2 == 1 {
		c.Waits = WaitsDrain
	}
	c.Devices[1].Fabric = true
	m := NewMachine(c)
	p.both = []*GPU{m.NewProcess(), m.NewProcess()}
	for i, g := range p.both {
		if seed%7 == 0 {
			g.ExpectManyStreams()
		}
		g.OnMemoryCall(func(c MemoryCall) { p.say("process %d: %+v", i, c) })
	}
	all := reflect.TypeFor[*GPU]()
	for i := range all.NumMethod() {
		m := all.Method(i)
		if slices.Contains(oftenAsked, m.Name) {
			p.often = append(p.often, m)
		}
		if slices.Contains(mostAsked, m.Name) {
			p.often = append(p.often, m, m, m, m, m)
		}
		switch {
		case slices.Contains(rarelyAsked, m.Name):
			p.rare = append(p.rare, m)
		case !slices.Contains(notAsked, m.Name):
			p.methods = append(p.methods, m)
		}
	}
	return p
}

// allDurations are durations of which each counts.
func allDurations() Durations {
	d := inMilliseconds()
	d.Call, d.Memory, d.Page, d.Pin, d.Copies, d.Link = 1, 20, 300, 7*ms, 1, 3
	d.First = func(name string, operations uint64) (time.Duration, bool) {
		return time.Duration(operations) * 1000, name == "out"
	}
	d.Behind = func(from time.Duration) float64 { return float64(from%7) - 2 }
	return d
}

// plainHost is memory of the host that has no addresses.
type plainHost struct{}

func (plainHost) Obtain(bytes uint64) ([]byte, error) { return make([]byte, bytes), nil }
func (plainHost) Drop([]byte)                         {}
func (plainHost) Map(spec.Ptr, []byte) error          { return nil }
func (plainHost) Unmap(spec.Ptr, uint64)              {}

func (p *randomProgram) say(format string, args ...any) {
	p.said = append(p.said, fmt.Sprintf(format, args...))
}

// call makes one call that is drawn.
func (p *randomProgram) call() {
	from := p.methods
	switch n := p.IntN(60); {
	case n < 30:
		from = p.often
	case n == 30:
		from = p.rare
	}
	m := from[p.IntN(len(from))]
	p.mayFail = slices.Contains(slices.Collect(m.Type.Outs()), reflect.TypeFor[error]())
	p.in = p.IntN(6) / 5
	args := []reflect.Value{reflect.ValueOf(p.both[p.in])}
	var shown []string
	for in := 1; in < m.Type.NumIn(); in++ {
		v := p.value(m.Type.In(in))
		if !v.IsValid() {
			p.say("%s: nothing to ask for", m.Name)
			return
		}
		args, shown = append(args, v), append(shown, show(v))
	}
	if m.Name == "AddHostArea" { // the range is vacant, and has bytes
		r := spec.Range{Ptr: spec.Ptr(p.one(0x9000, 0x9200, 0x9800)), Bytes: p.one(64, 512, 1024)}
		args[1], args[2] = reflect.ValueOf(r), reflect.ValueOf(make([]byte, r.Bytes))
		p.keep(reflect.ValueOf(r.Ptr))
	}
	results := m.Func.Call(args)
	if m.Name == "EndThread" { // a thread that has ended makes no call
		p.both[p.in].SetThread(3)
	}
	failed := p.mayFail && !results[len(results)-1].IsNil()
	var answers []string
	for _, v := range results {
		answers = append(answers, show(v))
		if !failed {
			p.keep(v)
		}
	}
	p.say("%d.%s(%s) = %s", p.in, m.Name, strings.Join(shown, ", "), strings.Join(answers, ", "))
}

// keep makes something that was answered a value for later calls. What a call leaves to be called is called at once.
func (p *randomProgram) keep(v reflect.Value) {
	if f, is := v.Interface().(func()); is && p.IntN(2) == 0 {
		f()
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 {
		for i := range min(3, v.Len()) {
			p.keep(v.Index(i))
		}
		return
	}
	if ptr, is := v.Interface().(spec.Ptr); is && p.first == 0 {
		p.first = ptr
	}
	switch all := p.values[p.valuesOf(v.Type())]; {
	case len(all) < 6:
		p.values[p.valuesOf(v.Type())] = append(all, v)
	default:
		all[p.IntN(6)] = v
	}
}

// show is a value in words, without addresses of this process.
func show(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Func:
		return "func"
	case reflect.Struct:
		if strings.HasPrefix(v.Type().PkgPath(), "gaugeblock/spec/") || v.Type() == reflect.TypeFor[Point]() || v.Type() == reflect.TypeFor[LoggedStream]() {
			return v.Type().Name()
		}
	case reflect.Slice:
		if hazards, are := v.Interface().([]Hazard); are {
			return fmt.Sprint(len(hazards))
		}
	}
	return fmt.Sprintf("%v", v)
}

// end ends the two processes, and tells what can be seen of them at the end.
func (p *randomProgram) end() (all []string) {
	for _, g := range p.both {
		g.DrainAll()
		data, err := g.ReadBack(0, 0, spec.Range{Ptr: p.first, Bytes: 512})
		all = append(all, fmt.Sprint(data, err))
		for _, h := range g.Hazards() {
			all = append(all, h.String())
		}
		all = append(all, fmt.Sprint(g.Violations(), g.Leaks(), g.Calls(), g.PendingFaults()))
	}
	for i, g := range p.both {
		g.Exit()
		free, total, err := p.both[1].MemInfo(0)
		all = append(all, fmt.Sprint(i, free, total, err))
	}
	for range 150 { // a process that has ended refuses them all
		p.call()
	}
	return append(all, p.said...)
}

// value draws one of a type: what a call has answered, if there is any, or something that may be wrong. It is none if the
// type has no values but answers.
func (p *randomProgram) value(of reflect.Type) reflect.Value {
	if v, is := p.madeUp(of); is {
		return reflect.ValueOf(v)
	}
	if of == reflect.TypeFor[[]byte]() && p.IntN(2) == 0 {
		return reflect.ValueOf(p.bytes())
	}
	if known := p.values[p.valuesOf(of)]; len(known) > 0 && p.IntN(16) > 0 {
		v := known[p.IntN(len(known))]
		if ptr, is := v.Interface().(spec.Ptr); is && p.IntN(6) == 0 {
			return reflect.ValueOf(ptr + spec.Ptr(p.one(8, 512, 1024)))
		}
		return v
	}
	switch of.Kind() {
	case reflect.Struct:
		return reflect.Value{}
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return reflect.ValueOf(p.bytes())
		}
		v := reflect.MakeSlice(of, 0, 2)
		for range p.IntN(3) {
			if one := p.value(of.Elem()); one.IsValid() {
				v = reflect.Append(v, one)
			}
		}
		return v
	}
	v := reflect.New(of).Elem()
	switch n := p.one(0, 1, 2, 0x7000, 0x7200, 0x7400); {
	case v.CanInt():
		v.SetInt(int64(n) % 4)
	case v.CanUint():
		v.SetUint(n)
	}
	return v
}

// madeUp draws a value of the types that are not taken from answers.
func (p *randomProgram) madeUp(of reflect.Type) (v any, is bool) {
	switch of {
	case reflect.TypeFor[spec.Device]():
		devices := []spec.Device{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, -1}
		if !p.mayFail {
			devices = devices[:10]
		}
		return devices[p.IntN(len(devices))], true
	case reflect.TypeFor[uint64]():
		return p.one(0, 5, 8, 512, 512, 512, 512, 512, 1024, 1024, 4096, 1<<63, p.both[0].ProcessID(), p.both[1].ProcessID()), true
	case reflect.TypeFor[uint8](), reflect.TypeFor[int](), reflect.TypeFor[spec.Thread](), reflect.TypeFor[spec.CaptureMode](), reflect.TypeFor[spec.ShareType]():
		v := reflect.New(of).Elem()
		if v.CanInt() {
			v.SetInt(int64(p.IntN(3)))
		} else {
			v.SetUint(uint64(p.IntN(3)))
		}
		return v.Interface(), true
	case reflect.TypeFor[time.Duration]():
		return time.Duration(1+p.IntN(4)) * ms, true
	case reflect.TypeFor[string]():
		return []string{"k", "in", "out", "beside"}[p.IntN(4)], true
	case reflect.TypeFor[func()]():
		return func() { p.say("a function is called") }, true
	case reflect.TypeFor[func([]byte)]():
		return func(data []byte) { p.say("it is told % x", data) }, true
	}
	return p.madeUpOfParts(of)
}

func (p *randomProgram) bytes() []byte {
	data := make([]byte, 1+p.IntN(20))
	for i := range data {
		data[i] = byte(p.IntN(3))
	}
	return data
}

func (p *randomProgram) one(of ...uint64) uint64 { return of[p.IntN(len(of))] }

// madeUpOfParts draws the values that have several parts.
func (p *randomProgram) madeUpOfParts(of reflect.Type) (v any, is bool) {
	switch of {
	case reflect.TypeFor[spec.Range]():
		r := spec.Range{Ptr: draw[spec.Ptr](p)}
		if p.IntN(3) > 0 { // the same memory as often before
			r.Ptr = p.first
		}
		r.Bytes = p.one(0, 1, 8, 8, 64, 64, 512, 512, 1024)
		return r, true
	case reflect.TypeFor[spec.Launch]():
		return spec.Launch{
			Device: draw[spec.Device](p), Stream: draw[spec.Stream](p), Name: draw[string](p), Reads: draw[[]spec.Range](p), Writes: draw[[]spec.Range](p),
		}, true
	case reflect.TypeFor[spec.Copy]():
		return spec.Copy{
			Device: draw[spec.Device](p), Stream: draw[spec.Stream](p), Dst: draw[spec.Ptr](p), DstDevice: draw[spec.Device](p), Src: draw[spec.Ptr](p),
			SrcDevice: draw[spec.Device](p), Bytes: p.one(0, 7, 8, 64, 512),
		}, true
	case reflect.TypeFor[Lifetime]():
		return Lifetime{
			Range: draw[spec.Range](p), Device: spec.Device(p.IntN(2)), Stream: draw[spec.Stream](p), Captured: p.IntN(8) == 0, Yields: p.IntN(8) == 0,
			Owner: draw[string](p),
		}, true
	case reflect.TypeFor[spec.FaultSpec]():
		calls, errors := spec.DriverCalls(), spec.FaultErrors()
		return spec.FaultSpec{Call: calls[p.IntN(len(calls))], Nth: p.IntN(3), Error: errors[p.IntN(len(errors))]}, true
	}
	return nil, false
}

func draw[T any](p *randomProgram) T { return p.value(reflect.TypeFor[T]()).Interface().(T) }
