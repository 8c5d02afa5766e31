package examine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/conformance"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// TestParts compares what is said and asked, part by part, with testdata/parts:
//
//	calls            lines of the protocol, each a call of the driver by a program, on a GPU of two devices; PTR, EVENT and PAGE are the latest
//	program          operations of a trace: how a program in C++ or Python says each, and what stands above the program
//	complaints       TYPE LEFT ANSWER EXCEPTION: what an allocator's call left behind, and what is complained of
//	summary          a report that is made up, for programs
func TestParts(t *testing.T) {
	datadriven.RunTest(t, "testdata/parts", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "calls":
			return lineCallsOf(t, d.Input)
		case "program":
			return programOf(t, d.Input)
		case "complaints":
			return complaintsOf(d.Input)
		case "summary":
			return summaryOf(t)
		}
		d.Fatalf(t, "unknown command %q", d.Cmd)
		return ""
	})
}

func lineCallsOf(t *testing.T, input string) string {
	t.Helper()
	g := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, 16<<20), Addresses: fakegpu.RealLike})
	if err := g.AddStream(1, 32); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	heard, made := refusals{}, map[string]bool{}
	var latest lineResult // of what was made, by its name
	for line := range strings.Lines(input) {
		line = strings.NewReplacer("PTR", fmt.Sprint(latest.Ptr), "EVENT", fmt.Sprint(latest.Event), "PAGE", fmt.Sprint(latest.Page)).Replace(line)
		var c lineCall
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		result, err := c.perform(g)
		latest = lineResult{Ptr: cmp.Or(result.Ptr, latest.Ptr), Event: cmp.Or(result.Event, latest.Event), Page: cmp.Or(result.Page, latest.Page)}
		heard.hearLine(&c, &result)
		text, _ := json.Marshal(result)
		fmt.Fprintf(&b, "%s", text)
		if err != nil {
			fmt.Fprintf(&b, " %v", err)
		}
		if refused := heard.refused(); refused != "" {
			fmt.Fprintf(&b, " %s", refused)
		}
		b.WriteString("\n")
		made[c.Call] = true
	}
	for name := range lineCalls {
		if !made[name] {
			t.Errorf("no line makes the call %s", name)
		}
	}
	return b.String()
}

func programOf(t *testing.T, input string) string {
	t.Helper()
	header := `{"format":"allocator-trace","version":2,"total_memory":1048576,"devices":2,"streams":[0,16]}` + "\n"
	file := filepath.Join(t.TempDir(), "program.jsonl")
	if err := os.WriteFile(file, []byte(header+input+"\n"+`{"end":true}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, ops, _, err := trace.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	w := &writer{header: h, library: "lib.so", functions: Functions{Malloc: "my_malloc", Free: "my_free", Init: "my_init", Reset: "my_reset"}, about: []string{"a rule", ""}}
	for i := range ops {
		w.ops = ops[i : i+1]
		_, inCplusplus := w.cplusplus()
		_, inPython := w.python()
		fmt.Fprintf(&b, "%s %s; C++ %v, Python %v\n", ops[i].Kind, callOf(&ops[i], "{", "}"), inCplusplus, inPython)
	}
	w.ops = slices.DeleteFunc(slices.Clone(ops), func(op trace.Op) bool { return !pythonKinds[op.Kind] || op.Align > 0 })
	for _, program := range []func() (string, bool){w.cplusplus, w.python} {
		text, can := program()
		fmt.Fprintf(&b, "== %v\n", can)
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "// ") || strings.HasPrefix(line, "# ") || strings.Contains(line, "my_") || strings.Contains(line, "(none)") || strings.Contains(line, "lib.so") {
				b.WriteString(line)
			}
		}
		for _, call := range strings.Split(strings.TrimSpace(text), "\n") {
			if strings.Contains(call, "kernel(0, ") || strings.HasPrefix(strings.TrimSpace(call), "allocate(1") || strings.HasPrefix(call, "import") {
				fmt.Fprintln(&b, call)
			}
		}
	}
	w.header.Threads = 2
	_, inCplusplus := w.cplusplus()
	_, inPython := w.python()
	fmt.Fprintf(&b, "with threads: C++ %v, Python %v; %s %s\n", inCplusplus, inPython, reached("a/lib.so"), reached("lib.so"))
	return b.String()
}

// scripted answers each call with the same words.
type scripted struct {
	subject
	words     [8]uint64
	exception string
	refuses   string
	begins    error
	panics    any
}

func (s *scripted) call(message) ([8]uint64, string) { return s.words, s.exception }
func (s *scripted) refused() string                  { return s.refuses }
func (s *scripted) leaves() string                   { return "cudaErrorSome" }
func (s *scripted) begin(*fakegpu.GPU) error {
	if s.panics != nil {
		panic(s.panics)
	}
	return s.begins
}

var ordersByName = map[string]int32{
	"malloc": orderMalloc, "aligned": orderMallocAligned, "free": orderFree, "record_stream": orderRecordStream, "resize": orderResize,
	"reset": orderReset, "sleep": orderSleep, "wake": orderWake, "end": orderEnd,
}

func complaintsOf(input string) string {
	var b strings.Builder
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, 16<<20)})
	for line := range strings.Lines(input) {
		var kind, exception, refused string
		var last, pushed, device int
		var answer uint64
		fmt.Sscan(line, &kind, &last, &pushed, &device, &answer, &exception, &refused)
		s := &scripted{exception: strings.TrimPrefix(exception, "-"), refuses: strings.TrimPrefix(refused, "-")}
		s.words[0] = answer
		s.words[leftWord] = uint64(uint32(int32(last)))<<32 | uint64(uint16(int16(pushed)))<<16 | uint64(uint16(device+1))
		a := &allocator{subject: s, gpu: gpu, devices: 2}
		m := message{Type: ordersByName[kind]}
		m.Words[4], m.Words[2] = 1, 1
		a.call(m)
		complaint, words := a.Complaint()
		fmt.Fprintf(&b, "%d %s\n", complaint, words)
	}
	return b.String()
}

func summaryOf(t *testing.T) string {
	t.Helper()
	r := &Report{Report: &conformance.Report{Asked: conformance.Caching, Reached: conformance.Safe, LeftOut: []string{"pools"}}, Lacking: []string{"cudaX"}, Functions: Functions{Malloc: "m", Free: "f"}}
	r.Searched = append(r.Searched, conformance.Searched{Area: "core", Operations: 40}, conformance.Searched{Area: "pools", Operations: 2})
	text, err := json.MarshalIndent(r.Summary(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// TestBegins: an allocator that cannot begin is an error, and a mistake of ours is none of its.
func TestBegins(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(1, 16<<20)})
	broken := errors.New("broken")
	begin := func(s *scripted, driver spec.Driver) (err error) {
		x := &examination{subject: s}
		_, err = x.newAllocator(driver, &trace.Header{Devices: 1})
		return err
	}
	for _, c := range []struct {
		s      *scripted
		driver spec.Driver
		want   string
	}{
		{&scripted{}, gpu, "<nil>"}, {&scripted{begins: broken}, gpu, "broken"}, {&scripted{}, nil, "a library runs on a fake GPU, not on a <nil>"},
		{&scripted{panics: &conformance.Gone{Reason: "it went"}}, gpu, "the allocator cannot begin: it went"},
	} {
		if err := begin(c.s, c.driver); !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%v, not %s", err, c.want)
		}
	}
	defer func() {
		if recover() != broken {
			t.Error("a mistake in this process is not told")
		}
	}()
	_ = begin(&scripted{panics: broken}, gpu)
}
