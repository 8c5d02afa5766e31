//go:build cgo && linux

package host

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/internal/kept"
	"gaugeblock/spec"
)

// TestRandomOperations: what random programs of all operations are answered stays as it was, in two processes of one
// machine whose calls come from other processes. Of each ten operations the file has the last one in words, and a
// checksum of all.
func TestRandomOperations(t *testing.T) {
	operations := operationsOfHeader(t)
	shared.last, shared.pools, shared.pieces = 0, nil, nil
	var out strings.Builder
	for seed := range uint64(24) {
		p := newRandomOperations(seed, operations)
		for i := range 50 {
			p.said = nil
			for len(p.said) < 10 {
				p.one()
			}
			fmt.Fprintf(&out, "%d.%d %s %s\n", seed, i, kept.Sum(p.said), p.said[len(p.said)-1])
		}
		p.end()
		fmt.Fprintf(&out, "%d end %s\n", seed, kept.Sum(p.said))
	}
	kept.Compare(t, "testdata/random_operations", out.String())
}

// An operation is one of the header's, with what it says of its words.
type operation struct {
	number       int32
	name         string
	takes, gives map[int]string
}

// operationsOfHeader reads the table of operations. Those that take addresses of the caller's memory as they are
// are left out: callers of this process only have such.
func operationsOfHeader(t *testing.T) (list []operation) {
	t.Helper()
	text, err := os.ReadFile("../include/gaugeblock_cuda_table.h")
	if err != nil {
		t.Fatal(err)
	}
	number := int32(0)
	for _, m := range regexp.MustCompile(`(?m)^\tX\((\w+)\) */\* (.*?) \*/`).FindAllStringSubmatch(string(text), -1) {
		takes, gives, _ := strings.Cut(m[2], "->")
		o := operation{number, m[1], wordsOf(takes), wordsOf(gives)}
		number++
		if !slices.Contains([]string{"WAIT_VALUE", "LACKS"}, o.name) {
			list = append(list, o)
		}
	}
	return list
}

// wordsOf are the words in a comment such as "0 device, 1 bytes".
func wordsOf(comment string) map[int]string {
	words := map[int]string{}
	for part := range strings.SplitSeq(comment, ",") {
		var n int
		var what string
		if count, _ := fmt.Sscan(part, &n, &what); count == 2 {
			words[n] = strings.TrimRight(what, ";:")
		}
	}
	return words
}

// randomOperations makes random operations. Its values are what was answered, by the header's words.
type randomOperations struct {
	*rand.Rand
	both   [2]*Process
	all    []operation
	values [2]map[string][]uint64 // of each process
	shared map[string][][]byte    // handles and descriptors, by what makes them
	in     int                    // the process of the present operation
	said   []string
}

// oftenDone are operations that others need.
var oftenDone = []string{
	"POOL_MALLOC", "POOL_MALLOC", "POOL_FREE", "MALLOC", "EVENT_RECORD", "EVENT_CREATE", "STREAM_CREATE", "STREAM_SYNCHRONIZE", "STREAM_WAIT", "POOL_CREATE",
	"PIECE_EXPORT", "POOL_EXPORT", "POOL_IMPORT", "PIECE_IMPORT", "CAPTURE_BEGIN", "CAPTURE_END", "GRAPH_INSTANTIATE", "GRAPH_LAUNCH", "DRAIN", "BUSY", "LAUNCH", "POOL_GET", "POOL_SET",
}

func newRandomOperations(seed uint64, all []operation) *randomOperations {
	p := &randomOperations{Rand: rand.New(rand.NewPCG(seed, 380001)), all: all, values: [2]map[string][]uint64{{}, {}}, shared: map[string][][]byte{}}
	c := fakegpu.Config{
		Devices: fakegpu.Devices(2, 32<<20), PageGranularity: 1 << 20, Hazards: seed%2 == 0, Addresses: fakegpu.RealLike,
		Schedule: []fakegpu.Schedule{nil, fakegpu.Lazy(), fakegpu.Random(seed)}[seed%3],
	}
	if seed%4 > 1 {
		c.Waits = fakegpu.WaitsDrain
	}
	c.Devices[1].Fabric = true
	m := fakegpu.NewMachine(c)
	for i := range p.both {
		q := NewProcess(m.NewProcess())
		q.NoBytes, q.Illegal, q.Blocking = seed%8 == 7, seed%8 == 6, seed%4 < 2
		q.Log = p
		q.CallFunction = func(function, argument uint64) { p.say("%d: function %d is called of %d", i, function, argument) }
		q.Report = func() error { p.say("report"); return []error{nil, os.ErrInvalid}[seed%2] }
		p.both[i] = q
	}
	for _, o := range all {
		for range 2 * len(slices.DeleteFunc(slices.Clone(oftenDone), func(name string) bool { return name != o.name })) {
			p.all = append(p.all, o)
		}
	}
	return p
}

func (p *randomOperations) say(format string, args ...any) {
	p.said = append(p.said, fmt.Sprintf(format, args...))
}

// Write hears what a process logs.
func (p *randomOperations) Write(text []byte) (int, error) {
	p.say("%s", text)
	return len(text), nil
}

// one does an operation that is drawn.
func (p *randomOperations) one() {
	if p.IntN(20) == 0 {
		p.share()
		return
	}
	o := p.all[p.IntN(len(p.all))]
	p.in = p.IntN(5) / 4
	var words [8]uint64
	for i := range words {
		words[i] = p.word(o, i)
	}
	switch {
	case o.name == "HOST_ADD" && p.both[p.in].NoBytes: // what is copied there would be written to this process
		return
	case o.name == "HOST_ADD":
		words[0], words[1] = p.pick(0x9000, 0x9200, 0x9800), p.pick(64, 512, 1024)
	case o.name == "KERNEL" || o.name == "COMPUTE":
		words[2] = 0 // a text of the caller's memory
	}
	memory := p.memory(o, &words)
	p.do(o, words, memory)
}

// share makes a process open what the other one has allocated from a pool, and sometimes free it.
func (p *randomOperations) share() {
	named := func(in int, name string, memory [][]byte, words ...uint64) ([8]uint64, [][]byte) {
		p.in = in
		var all [8]uint64
		copy(all[:], words)
		return p.do(p.all[slices.IndexFunc(p.all, func(o operation) bool { return o.name == name })], all, memory)
	}
	from, to := p.IntN(2), p.IntN(2)
	made, _ := named(from, "POOL_CREATE", nil, 0, 0, p.pick(0, 8<<20), p.pick(1, 1, 1, 0))
	first, _ := named(from, "POOL_MALLOC", nil, 0, made[1], 0, p.pick(512, 3<<20))
	second, _ := named(from, "POOL_MALLOC", nil, 0, made[1], 0, 1024)
	_, content := named(from, "POOL_EXPORT", nil, made[1])
	piece, _ := named(from, "PIECE_EXPORT", nil, second[4])
	if p.IntN(4) == 0 {
		named(from, "POOL_FREE", nil, 0, second[4])
		named(from, "DEVICE_SYNCHRONIZE", nil, 0)
	}
	opened, _ := named(to, "POOL_IMPORT", content)
	for range 2 { // what is open has the same address
		imported, _ := named(to, "PIECE_IMPORT", nil, opened[2], piece[1])
		named(to, "POINTER", nil, imported[2])
		if p.IntN(2) == 0 {
			named(to, "POOL_DESTROY", nil, opened[2])
			named(to, "POOL_FREE", nil, 0, imported[2])
		}
	}
	named(to, "DEVICE_SYNCHRONIZE", nil, 0)
	named(to, "POOL_DESTROY", nil, opened[2])
	named(from, "POOL_FREE", nil, 0, first[4])
	named(from, "FREE", nil, second[4])
	named(from, []string{"POOL_DESTROY", "POOL_GET"}[p.IntN(2)], nil, made[1], 6)
}

// do does an operation in the present process, tells what is answered, and keeps it for later.
func (p *randomOperations) do(o operation, words [8]uint64, memory [][]byte) ([8]uint64, [][]byte) {
	mode := int32(p.IntN(8)/6) * int32(p.IntN(3)) << 16
	before := words
	result, answered := p.both[p.in].Answer(o.number|mode, &words, memory)
	for _, content := range answered {
		switch {
		case result != 0 || len(content) == 0:
		case strings.Contains(o.name, "NODE") || o.name == "CAPTURE_INFO":
			for at := content; len(at) >= 8; at = at[8:] {
				p.values[p.in]["node"] = append(p.values[p.in]["node"], binary.NativeEndian.Uint64(at))
			}
		default:
			kind := strings.TrimSuffix(o.name, "_EXPORT")
			p.shared[kind] = append(p.shared[kind], content)
		}
	}
	for number, passes := range places {
		for _, m := range passes {
			if int32(number) == o.number {
				words[m.word] = 0 // where the memory was
			}
		}
	}
	for i := range words {
		if what := o.gives[i]; result == 0 && what != "" {
			p.values[p.in][what] = append(p.values[p.in][what], words[i])
		}
	}
	call, word := GivesBack(o.number)
	p.say("%d.%s%d %x = %d %x %s %s; %s %d", p.in, o.name, mode>>16, before, result, words, short(memory), short(answered), call, word)
	return words, answered
}

// short are contents without what is zero at their ends.
func short(contents [][]byte) string {
	var b strings.Builder
	for _, c := range contents {
		fmt.Fprintf(&b, "%d:%x ", len(c), bytes.TrimRight(c, "\x00"))
	}
	return b.String()
}

// word draws a word by what the header says of it: what was answered, if there is any, or something that may be wrong.
func (p *randomOperations) word(o operation, i int) uint64 {
	what := o.takes[i]
	switch what {
	case "to", "from":
		what = "address"
	case "later":
		what = "event"
	case "its", "peer":
		what = "device"
	}
	known := p.values[p.in][what]
	switch what {
	case "device":
		return p.pick(0, 0, 0, 0, 0, 1, 1, 2, 1<<64-1)
	case "bytes", "most":
		return p.pick(0, 1, 512, 512, 1024, 1<<20, 1<<20, 2<<20, 3<<20, 1<<63)
	case "address":
		if len(known) > 0 && p.IntN(8) == 0 {
			return known[p.IntN(len(known))] + p.pick(1, 512, 1<<20)
		}
	}
	if len(known) > 0 && p.IntN(12) > 0 {
		return known[len(known)-1-p.IntN(min(6, len(known)))]
	}
	return p.pick(0, 0, 1, 2, 3, 4, 5, 6, 7, 8)
}

func (p *randomOperations) pick(of ...uint64) uint64 { return of[p.IntN(len(of))] }

// memory is what the operation's words name, as the caller has it. Words that say how much are made small.
func (p *randomOperations) memory(o operation, words *[8]uint64) (list [][]byte) {
	handle := func(kind string) []byte {
		h := make([]byte, 64)
		if all := p.shared[kind]; len(all) > 0 && p.IntN(8) > 0 {
			h = all[len(all)-1-p.IntN(min(4, len(all)))]
		}
		return h
	}
	ranges := func() (all []byte) {
		for range p.IntN(3) {
			all = binary.NativeEndian.AppendUint64(all, p.word(operation{takes: map[int]string{0: "address"}}, 0))
			all = binary.NativeEndian.AppendUint64(all, p.pick(0, 1, 8, 512))
		}
		return all
	}
	nodes := func() (all []byte) {
		for range p.IntN(3) {
			all = binary.NativeEndian.AppendUint64(all, p.word(operation{takes: map[int]string{0: "node"}}, 0))
		}
		return all
	}
	switch o.name {
	case "PAGE_IMPORT", "POOL_IMPORT":
		return [][]byte{handle(strings.TrimSuffix(o.name, "_IMPORT"))}
	case "IPC_OPEN":
		return [][]byte{handle("IPC_GET")}
	case "EVENT_OPEN":
		return [][]byte{handle("EVENT_SHARE")}
	case "COPY_IN":
		words[4] = p.pick(0, 1, 8, 64)
		return [][]byte{make([]byte, words[4])}
	case "COPY_OUT", "CAPTURE_INFO", "NODE_DEPENDENCIES", "GRAPH_NODES", "HAZARD":
		room := 2
		switch o.name {
		case "COPY_OUT":
			room = 4
		case "CAPTURE_INFO":
			room = 6
		}
		words[room] = p.pick(0, 1, 3, 64)
		return [][]byte{nil}
	case "GRAPH_EMPTY_NODE", "CAPTURE_DEPENDS":
		n := nodes()
		words[map[string]int{"GRAPH_EMPTY_NODE": 2, "CAPTURE_DEPENDS": 3}[o.name]] = uint64(len(n) / 8)
		return [][]byte{n}
	case "LAUNCH":
		reads, writes := ranges(), ranges()
		words[4], words[6] = uint64(len(reads)/16), uint64(len(writes)/16)
		return [][]byte{[]byte("k\x00"), reads, writes}
	case "FAULT":
		calls, errors := spec.DriverCalls(), spec.FaultErrors()
		words[1] = p.pick(0, 1, 2)
		return [][]byte{[]byte(string(calls[p.IntN(len(calls))]) + "\x00"), []byte(string(errors[p.IntN(len(errors))]) + "\x00")}
	case "PROPERTIES", "IPC_GET", "EVENT_SHARE":
		return [][]byte{nil}
	}
	return nil
}

// end lets all work be done, and tells what can be seen of the processes.
func (p *randomOperations) end() {
	p.said = nil
	for _, q := range p.both {
		q.GPU.DrainAll()
		q.Settle()
		p.say("%v %v %v", q.GPU.Leaks(), q.GPU.Violations(), len(q.GPU.Hazards()))
		free, total, err := q.GPU.MemInfo(0)
		p.say("%d %d %v; %d kept, %d closing", free, total, err, len(q.pools.plain), len(q.pools.closing))
	}
}
