package graphtree

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/graphtree"
	"gaugeblock/internal/sizes"
	"gaugeblock/spec"
)

// TestTranscripts runs the stories in testdata/stories: each shows a rule of graph
// trees, command by command, with what came of it. p1, p2, … are the segments of the
// tree's pool in the order in which they came. `go test ./tests/graphtree -run
// TestTranscripts -rewrite` writes the answers anew; read the difference.
//
//	new [memory=SIZE] [settings=…] [limit=N]    a device, an allocator, a manager; N is
//	                                            the re-record limit
//	function NAME takes=(x,y) [static=(x)] [mode=forward]
//	                 its lines are what it does: `alloc t SIZE`, `free t`, `copy t x`,
//	                 `launch t x`, `share x`, `fail`, `return t…`
//	call NAME with=(…) out=(…)    an input is a size (fresh memory, filled with the
//	                 call's number), the name of a tensor, of which a share is passed
//	                 on, or give:NAME, the tensor itself
//	new-static NAME SIZE    memory that functions use in place; again: elsewhere
//	drop NAME…       release
//	step, invocation, backward    what begins, or does not begin, a generation
//	read NAME…       what is there: the number that was copied there
//	pool             the memory of the pool
//	fault CALL N     the Nth such call of the driver fails
//	shutdown         gives the trees up; leaks: what the device has not got back
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		var s *story
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				s = newStory(t, d, nil)
				return ""
			}
			command := commands[d.Cmd]
			if command == nil {
				d.Fatalf(t, "there is no command %q", d.Cmd)
			}
			s.t, s.d = t, d
			answer := command(s)
			s.check()
			if answer != "" {
				answer = strings.TrimSuffix(answer, "\n") + "\n"
			}
			return answer
		})
	})
}

var commands = map[string]func(s *story) string{
	"function":    (*story).function,
	"call":        (*story).call,
	"new-static":  (*story).newStatic,
	"drop":        (*story).drop,
	"step":        func(s *story) string { s.manager.Generations().MarkStep(); return "" },
	"invocation":  func(s *story) string { s.manager.Generations().NewInvocation(); return "" },
	"backward":    func(s *story) string { s.manager.BeginBackward(); return "" },
	"read":        (*story).read,
	"pool":        (*story).pool,
	"fault":       (*story).fault,
	"shutdown":    func(s *story) string { return said(s.manager.Shutdown()) },
	"leaks":       func(s *story) string { return strings.Join(s.gpu.Leaks(), "\n") },
	"empty-cache": func(s *story) string { return said(s.allocator.EmptyCache()) },
}

func said(err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return ""
}

// story is a manager that is told what to do.
type story struct {
	t *testing.T
	d *datadriven.TestData

	gpu       *fakegpu.GPU
	allocator *alloc.Allocator
	manager   *graphtree.Manager
	functions map[string]*graphtree.Function
	tensors   map[string]*graphtree.Tensor
	segments  []spec.Segment // of the pool, as they came
	calls     int
	steps     *steps // of a story that may end early
}

var pool = spec.PoolID{User: 1}

func newStory(t *testing.T, d *datadriven.TestData, steps *steps) *story {
	s := &story{t: t, d: d, steps: steps, functions: map[string]*graphtree.Function{}, tensors: map[string]*graphtree.Tensor{}}
	memory, settings, limit := "1GiB", "", 0
	d.MaybeScanArgs(t, "memory", &memory)
	d.MaybeScanArgs(t, "settings", &settings)
	d.MaybeScanArgs(t, "limit", &limit)
	s.gpu = fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, s.size(memory))})
	var err error
	s.allocator, err = alloc.New(s.gpu, alloc.Options{Settings: settings})
	s.must(err)
	stream, err := s.gpu.CreateStream(0)
	s.must(err)
	o := graphtree.Options{Stream: stream, Pool: pool, RerecordLimit: limit}
	if steps == nil {
		s.manager, err = graphtree.New(s.gpu, s.allocator, o)
	} else {
		s.manager, err = graphtree.New(steppedGPU{s.gpu, steps}, steppedAllocator{s.allocator, steps}, o)
	}
	s.must(err)
	return s
}

func (s *story) must(err error) {
	s.t.Helper()
	if err != nil && s.steps != nil {
		panic(ended{err})
	}
	if err != nil {
		s.d.Fatalf(s.t, "%v", err)
	}
}

func (s *story) size(text string) uint64 {
	n, err := sizes.Parse(text)
	s.must(err)
	return n
}

// list is the values of an argument.
func (s *story) list(key string) []string {
	for _, arg := range s.d.CmdArgs {
		if arg.Key == key {
			return arg.Vals
		}
	}
	return nil
}

// names are the arguments without a value.
func (s *story) names() (names []string) {
	for _, arg := range s.d.CmdArgs {
		if len(arg.Vals) == 0 {
			names = append(names, arg.Key)
		}
	}
	return names
}

func (s *story) call() string {
	s.calls++
	var inputs []*graphtree.Tensor
	for _, with := range s.list("with") {
		given, give := strings.CutPrefix(with, "give:")
		tensor := s.tensors[given]
		switch {
		case give:
			if delete(s.tensors, given); tensor == nil {
				s.must(fmt.Errorf("%s is not there", given))
			}
		case tensor != nil:
			var err error
			if tensor, err = tensor.Share(); err != nil {
				return said(err)
			}
		default:
			var err error
			tensor, err = s.manager.Malloc(s.size(with))
			s.must(err)
			r, _ := tensor.Range()
			s.must(s.gpu.Fill(0, 0, r, byte(s.calls)))
		}
		inputs = append(inputs, tensor)
	}
	outputs, err := s.manager.Call(s.functions[s.names()[0]], inputs...)
	if err != nil {
		return said(err) + "\n" + s.status()
	}
	answer := s.status()
	for i, name := range s.list("out") {
		if old := s.tensors[name]; old != nil {
			s.must(fmt.Errorf("%s is held", name))
		}
		s.tensors[name] = outputs[i]
		answer += fmt.Sprintf("\n%s at %s", name, s.place(outputs[i]))
	}
	return answer
}

func (s *story) newStatic() string {
	name := s.d.CmdArgs[0].Key
	old := s.tensors[name]
	var err error
	s.tensors[name], err = s.manager.Malloc(s.size(s.d.CmdArgs[1].Key))
	s.must(err)
	if old != nil {
		s.must(old.Release())
	}
	return ""
}

func (s *story) drop() string {
	for _, name := range s.names() {
		if err := s.tensors[name].Release(); err != nil {
			return said(err)
		}
		delete(s.tensors, name)
	}
	return ""
}

func (s *story) read() string {
	var lines []string
	for _, name := range s.names() {
		r, err := s.tensors[name].Range()
		if err != nil {
			lines = append(lines, name+": "+said(err))
			continue
		}
		bytes, err := s.gpu.ReadBack(0, 0, spec.Range{Ptr: r.Ptr, Bytes: 1})
		s.must(err)
		lines = append(lines, fmt.Sprintf("%s: %d", name, bytes[0]))
	}
	return strings.Join(lines, "\n")
}

func (s *story) fault() string {
	nth, err := strconv.Atoi(s.d.CmdArgs[1].Key)
	s.must(err)
	call := s.d.CmdArgs[0].Key
	s.must(s.gpu.FailCall(call, nth, fakegpu.UnknownError(call)))
	return ""
}

// check holds the manager to what it promises after any command: while the
// allocator follows what happens, exactly those outputs are allocated that somebody
// holds.
func (s *story) check() {
	s.t.Helper()
	if state := s.manager.Status().State; state != graphtree.WarmUp && state != graphtree.Recording {
		return
	}
	var live []spec.Ptr
	for _, t := range s.tensors {
		if s.manager.Holds(t) {
			r, err := t.Range()
			s.must(err)
			live = append(live, r.Ptr)
		}
	}
	same, err := s.allocator.CheckPoolLiveAllocations(0, pool, live)
	s.must(err)
	if !same {
		s.t.Errorf("%s: the pool's blocks are not those of the outputs that are held, %v:\n%s", s.d.Pos, live, s.pool())
	}
}
