package fakegpu_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// hazardProgram is a small program for the machine of prelude, and the verdict on
// it: a line for each hazard, or nothing. The commands are those of the transcripts.
//
// Each program is run under every schedule that there is. The verdict is always the
// same; and if it is that two accesses are unordered, then what memory holds in the
// end depends on the schedule, and otherwise it does not.
type hazardProgram struct {
	name    string
	program string
	want    string

	blocking bool // Config.BlockingStreams
	// eager: the program is run only with schedules that put nothing off, because it
	// asks how far the device has come, or because the calls of its host threads come
	// in an order that is good luck.
	eager bool
}

// prelude makes managed memory p, memory q of the program's own, streams s, t, u of
// device 0 and r of device 1, and an event for each of e, f (device 0), g (device 1).
const prelude = `
	malloc p 1KiB
	malloc q 1KiB
	stream s
	stream t
	stream u
	stream r 1
	event e
	event f
	event g 1
	enable-peer 1 0
	give p+512:8 s
`

const recordStreamT = "RecordStream(stream t) before lifetime 2 was freed, or an event recorded in stream t and waited for by stream s, would"

var hazardPrograms = []hazardProgram{
	// How memory comes from one owner to the next.
	{name: "the same stream reuses", program: `
		give p:512 s; kernel s a writes p:512; take p
		give p:512 s; kernel s b reads p:512 writes q:8`},
	{name: "another stream reuses", program: `
		give p:512 s; kernel s a writes p:512; take p
		give p:512 t; kernel t b reads p:512 writes q:8`,
		want: "a, b: memory that stream s has used may go to stream t only when that is over, or when stream t waits for an event of stream s"},
	{name: "another stream used it and nobody waits", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: " + recordStreamT},
	{name: "another stream used it, its event has been seen", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; record e t
		sync-event e
		give p:512 s; kernel s b writes p:512`},
	{name: "the second owner uses it on a stream that did not wait", program: `
		give p:512 s; kernel s a writes p:512; take p
		give p:512 s; kernel t b reads p:512 writes q:8`,
		want: "a, b: lifetime 3 was allocated for stream s, and an event recorded there and waited for by stream t would"},
	{name: "work runs after the free, before the next owner's", program: `
		give p:512 s; busy s; kernel s a reads p:512 writes q:8; take p
		give p:512 s; kernel s b writes p:512; drain s`},
	{name: "three owners, the last on the first one's stream", program: `
		give p:512 s; kernel s a reads p:512 writes q:8; take p; record e s; wait t e
		give p:512 t; kernel t b reads p:512 writes q+8:8; take p
		give p:512 s; kernel s c writes p:512`,
		want: "b, c: memory that stream t has used may go to stream s only when that is over, or when stream s waits for an event of stream t"},
	{name: "the owner before the last is not forgotten", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; record e t; wait u e
		give p:512 u; kernel u b reads p:512 writes q+8:8; take p
		give p:512 u; kernel s c writes p:512`,
		want: "a, c: " + recordStreamT + "\n" +
			"b, c: lifetime 4 was allocated for stream u, and an event recorded there and waited for by stream s would"},
	{name: "another stream used it, which the allocator was told", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; told p t; take p
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: the use by stream t was recorded before lifetime 2 was freed, so the memory may go to stream s only when the work of stream t is over, " +
			"or when stream s waits for an event of stream t"},
	{name: "of two uses the allocator was told of one, and of a stream that made none", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; told p r; told p u; kernel u c reads p:512 writes q+8:8; take p
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: " + recordStreamT + "\n" +
			"c, b: the use by stream u was recorded before lifetime 2 was freed, so the memory may go to stream s only when the work of stream u is over, " +
			"or when stream s waits for an event of stream u"},
	{name: "the allocator was told of memory that nobody has", program: `
		told p t; give p:512 s; kernel t a reads p:512 writes q:8; take p; told p t
		give p:512 s; told p+8 t; kernel s b writes p:512`,
		want: "a, b: " + recordStreamT},

	// Events.
	{name: "a stream waits for an event", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; record e t; wait s e
		give p:512 s; kernel s b writes p:512`},
	{name: "the event is recorded too early", program: `
		give p:512 s; record e t; kernel t a reads p:512 writes q:8; take p; wait s e
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: " + recordStreamT},
	{name: "the stream waits too late", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; record e t
		give p:512 s; kernel s b writes p:512; wait s e`,
		want: "a, b: " + recordStreamT},
	{name: "an event that was never recorded", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; wait s e
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: " + recordStreamT},
	{name: "the event is recorded anew, behind the wait", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; record e t; wait s e; record e u
		give p:512 s; kernel s b writes p:512`},
	{name: "the event is recorded anew, before the wait", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; record e t; record e u; wait s e
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: " + recordStreamT},
	{name: "a wait does not take part in what is recorded later", program: `
		give p:512 s; record e t; wait s e; kernel t a reads p:512 writes q:8; record e t; take p
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: " + recordStreamT},
	{name: "a chain of events", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p
		record e t; wait u e; record f u; wait s f
		give p:512 s; kernel s b writes p:512`},
	{name: "a chain with its links in the wrong order", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p
		record e t; record f u; wait u e; wait s f
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: " + recordStreamT},
	{name: "an event is destroyed after the wait", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; record e t; wait s e; destroy-event e
		give p:512 s; kernel s b writes p:512`},

	// The host.
	{name: "the host waits for the stream", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; sync t
		give p:512 s; kernel s b writes p:512`},
	{name: "the host waits for another stream", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; sync u
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: " + recordStreamT},
	{name: "the host waits for another stream, which has waited", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; record e t; wait u e; sync u
		give p:512 s; kernel s b writes p:512`},
	{name: "the host waits for the device", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; sync-device
		give p:512 s; kernel s b writes p:512`},
	{name: "the host waits for another device", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; sync-device 1
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: " + recordStreamT},
	{name: "the host waits too late", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p
		give p:512 s; kernel s b writes p:512; sync-device`,
		want: "a, b: " + recordStreamT},
	{name: "the host has waited before", program: `
		give p:512 s; sync-device; kernel t a reads p:512 writes q:8; take p
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: " + recordStreamT},
	{name: "the host asks and is told no", program: `
		give p:512 s; busy t; kernel t a reads p:512 writes q:8; take p; record e t; query e
		give p:512 s; kernel s b writes p:512; drain t`,
		want: "a, b: " + recordStreamT},
	{name: "the host asks and is told yes", eager: true, program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; record e t; query e
		give p:512 s; kernel s b writes p:512`},
	{name: "the host reads back", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; read t q:8
		give p:512 s; kernel s b writes p:512`},
	{name: "driver memory is freed meanwhile", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; malloc x 64; free x
		give p:512 s; kernel s b writes p:512`},
	{name: "the stream is destroyed", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; destroy-stream t
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: RecordStream(stream t) before lifetime 2 was freed, or an event recorded in stream t and waited for by stream s, would"},
	{name: "the stream is destroyed and the host waits for the device", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; destroy-stream t; sync-device
		give p:512 s; kernel s b writes p:512`},
	{name: "another thread waits, and holds the default stream up", program: `
		thread 1; thread 0
		give p:512 s; kernel t a reads p:512 writes q:8; take p; thread 1; sync t; busy default; thread 0
		give p:512 default; kernel default b writes p:512`, eager: true,
		want: "a, b: RecordStream(stream t) before lifetime 2 was freed, or an event recorded in stream t and waited for by the default stream of device 0, would"},
	{name: "another thread waits", program: `
		thread 1; thread 0
		give p:512 s; kernel t a reads p:512 writes q:8; take p; thread 1; sync t; thread 0
		give p:512 s; kernel s b writes p:512`, eager: true,
		want: "a, b: " + recordStreamT},

	// What the accesses are.
	{name: "both read", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p
		give p:512 s; kernel s b reads p:512 writes q+8:8`},
	{name: "a write that is read", program: `
		give p:512 s; kernel t a writes p:512; take p
		give p:512 s; kernel s b reads p:512 writes q:8`,
		want: "a, b: " + recordStreamT},
	{name: "two writes", program: `
		give p:512 s; kernel t a writes p:512; take p
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: " + recordStreamT},
	{name: "different halves", program: `
		give p:512 s; kernel t a writes p:256; take p
		give p:512 s; kernel s b writes p+256:256`},
	{name: "one byte in common", program: `
		give p:512 s; kernel t a writes p:257; take p
		give p:512 s; kernel s b writes p+256:256`,
		want: "a, b: " + recordStreamT},
	{name: "a part of the memory is allocated, and another part", program: `
		give p:512 s; kernel t a writes p:512; take p
		give p:128 s; give p+128:384 s; kernel s b writes p+128:256`,
		want: "a, b: " + recordStreamT},
	{name: "a fill", program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p
		give p:512 s; fill s p+8:8 1`,
		want: "a, fill: " + recordStreamT},
	{name: "the source of a copy", program: `
		give p:512 s; copy t q p 8; take p
		give p:512 s; kernel s b writes p:8`,
		want: "copy, b: " + recordStreamT},
	{name: "the target of a copy", program: `
		give p:512 s; fill s q+8:8 1; kernel t a reads p:512 writes q:8; take p
		give p:512 s; copy s p q+8 8`,
		want: "a, copy: " + recordStreamT},
	{name: "reading back", program: `
		give p:512 s; kernel t a writes p:512; take p
		give p:512 s; read s p:8`,
		want: "a, read back: " + recordStreamT},
	{name: "a peer copies", program: `
		give p:512 s; copy r q p 8 0 0; take p
		give p:512 s; kernel s b writes p:8`,
		want: "copy, b: RecordStream(stream r) before lifetime 2 was freed, or an event recorded in stream r and waited for by stream s, would"},
	{name: "a peer copies and is waited for", program: `
		give p:512 s; copy r q p 8 0 0; take p; record g r; wait s g
		give p:512 s; kernel s b writes p:8`},

	// The default stream.
	{name: "the default stream is like any other", program: `
		give p:512 s; kernel default a reads p:512 writes q:8; take p
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: RecordStream(the default stream of device 0) before lifetime 2 was freed, or an event recorded in the default stream of device 0 and waited for by stream s, would"},
	{name: "blocking: from the default stream", blocking: true, program: `
		give p:512 s; kernel default a reads p:512 writes q:8; take p
		give p:512 s; kernel s b writes p:512`},
	{name: "blocking: to the default stream", blocking: true, program: `
		give p:512 s; kernel s a reads p:512 writes q:8; take p
		give p:512 default; kernel default b writes p:512`},
	{name: "blocking: through the default stream", blocking: true, program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; kernel default x
		give p:512 s; kernel s b writes p:512`},
	{name: "blocking: through an event of the default stream", blocking: true, program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; record e default; sync-event e
		give p:512 s; kernel s b writes p:512`},
	{name: "blocking: through a wait of the default stream", blocking: true, program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; record e u; wait default e
		give p:512 s; kernel s b writes p:512`},
	{name: "blocking: not among themselves", blocking: true, program: `
		give p:512 s; kernel default x; kernel t a reads p:512 writes q:8; take p
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: " + recordStreamT},
	{name: "blocking: not the other device's", blocking: true, program: `
		give p:512 s; kernel t a reads p:512 writes q:8; take p; kernel default1 x
		give p:512 s; kernel s b writes p:512`,
		want: "a, b: " + recordStreamT},

	// Graphs.
	{name: "the order of a graph", program: `
		begin s
		give p:512 s pool 1; kernel s a reads p:512 writes q:8; take p; record e s; wait t e
		give p:512 t pool 1; kernel t b writes p:512; record f t; wait s f
		end s G; instantiate X G; launch s X; launch s X`},
	{name: "a graph lacks an edge", program: `
		begin s; record e s; wait t e
		give p:512 s pool 1; kernel s a reads p:512 writes q:8; take p
		give p:512 t pool 1; kernel t b writes p:512; record f t; wait s f; kernel s c
		end s G; instantiate X G; launch s X`,
		want: "a, b: the graph lacks a dependency between the two nodes"},
	{name: "a graph is one piece of its stream", program: `
		begin s
		give p:512 s pool 1; kernel s a reads p:512 writes q:8
		end s G; instantiate X G; launch t X; take p; record e t; wait u e
		give p:512 u pool 1 captured; kernel u b writes p:512`},
	{name: "a graph is not waited for", program: `
		begin s
		give p:512 s pool 1; kernel s a reads p:512 writes q:8
		end s G; instantiate X G; launch t X; take p
		give p:512 u pool 1 captured; kernel u b writes p:512`,
		want: "a, b: an event recorded in stream t and waited for by stream u would"},
	{name: "the same graph twice, on two streams", program: `
		begin s
		give p:512 s pool 1; kernel s a reads p:512 writes q:8; take p
		give p:512 s pool 1; kernel s b writes p:512; take p
		end s G; instantiate X G; launch s X; launch t X`},
	{name: "two graphs of one pool, on two streams", program: `
		begin s
		give p:512 s pool 1; kernel s a reads p:512 writes q:8; take p
		end s G; instantiate X G
		begin s
		give p:512 s pool 1; kernel s b writes p:512; take p
		end s H; instantiate Y H
		launch s X; launch t Y`,
		want: "a, b: an event recorded in stream s and waited for by stream t would"},
	{name: "a graph's input is freed", program: `
		give p:512 s
		begin s; kernel s a reads p:512; end s G; instantiate X G; launch s X
		take p; launch s X`,
		want: "outlived: a: since the capture lifetime 2 (512 bytes at p, allocated for stream s) was freed; it is not the graph's own, having been allocated outside of the capture"},
	{name: "a graph's memory is given to somebody else", program: `
		begin s; give p:512 s pool 1; kernel s a writes p:512; take p; end s G; instantiate X G; launch s X
		give p:512 s; launch s X`,
		want: "outlived: a: since the capture its memory was given to lifetime 3 (512 bytes at p, allocated for stream s), which is not of a capture in pool (1, 0)"},

	// Memory that is not there, or not anybody's.
	{name: "memory that was never there", program: `kernel s a writes nowhere:8`,
		want: "no memory: a: there is no memory"},
	{name: "use after free", program: `
		give p:512 s; kernel s a writes p:512; take p; kernel s b reads p:512`,
		want: "not allocated: b: nobody has the memory, which was last used by kernel \"a\" (work 1, stream s) in lifetime 2 (512 bytes at p, allocated for stream s)"},
	{name: "beyond the end", program: `
		give p:500 s; kernel s a writes p:512`,
		want: "not allocated: a: nobody has the memory"},
	{name: "the allocator fills what it gets back, and what it allocates", program: `
		give p:512 s; kernel s a writes p:512; take p; inside; kernel s f writes p:512; outside
		inside; kernel s f writes p:512; outside; give p:512 s; kernel s b writes p:512`},
	{name: "the allocator fills what it gets back, on a stream that waits for nothing", program: `
		give p:512 s; kernel s a writes p:512; take p; inside; kernel t f writes p:512; outside`,
		want: "a, f: an event recorded in stream s and waited for by stream t would"},
	{name: "the allocator fills what it allocates, on a stream that nobody waits for", program: `
		give p:512 s; take p; inside; kernel t f writes p:512; outside; give p:512 s; kernel s b writes p:512`,
		want: "f, b: an event recorded in stream t and waited for by stream s would"},
	{name: "the allocator reads what is allocated, on a stream that waits for nothing", program: `
		give p:512 s; kernel s a writes p:512; inside; kernel t f reads p:512 writes q:8; outside; kernel s b writes p:512`,
		want: "a, f: an event recorded in stream s and waited for by stream t would\n" +
			"f, b: an event recorded in stream t and waited for by stream s would"},
	{name: "work on memory that nobody has, after the allocator's own", program: `
		give p:512 s; take p; inside; kernel s f writes p:512; outside; kernel s b writes p:512`,
		want: "not allocated: b: nobody has the memory, which was last used by kernel \"f\" (work 1, stream s) in the allocator's own work"},
	{name: "given back to the driver by the allocator", program: `
		give p:512 s; kernel s a writes p:512; free p; kernel s b reads p:512`,
		want: "no memory: b: there is no memory"},
	{name: "unmapped while in use", program: `
		reserve v 64; page x 64; map x v 64; access v 64
		give v:64 s; kernel s a writes v:64; take v; unmap v 64`,
		want: "returned: a: UnmapPage takes the memory away, and the host has not waited for stream s"},
	{name: "unmapped when it is over, and mapped again", program: `
		reserve v 64; page x 64; map x v 64; access v 64
		give v:64 s; kernel s a writes v:64; take v; sync s; unmap v 64; map x v 64; access v 64
		give v:64 t; kernel t b writes v:64`},
	{name: "allocated twice", program: `
		give p:512 s; give p+256:512 s; kernel s a writes p+256:512`,
		want: "allocated twice: lifetime 3 (512 bytes at p+256, allocated for stream s) was allocated while lifetime 2 (512 bytes at p, allocated for stream s) had not ended\n" +
			"allocated twice: lifetime 3 (512 bytes at p+256, allocated for stream s) was allocated while lifetime 1 (8 bytes at p+512, allocated for stream s) had not ended"},
}

func TestHazardPrograms(t *testing.T) {
	for _, p := range hazardPrograms {
		t.Run(p.name, func(t *testing.T) {
			runs := p.runs()
			outcomes := map[string]bool{}
			for _, r := range runs {
				if r.schedule != "none" { // where kernels do not pass on what they read
					outcomes[r.outcome] = true
				}
				if diff := cmp.Diff(p.want, r.verdict); diff != "" {
					t.Errorf("%s (-want +got):\n%s", r.schedule, diff)
				}
			}
			if !p.eager && runs[0].unordered != (len(outcomes) > 1) {
				t.Errorf("unordered: %v, but in %d runs there are %d different outcomes", runs[0].unordered, len(runs), len(outcomes))
			}
		})
	}
}

// hazardRun is one run of a program.
type hazardRun struct {
	schedule  string
	verdict   string
	unordered bool
	outcome   string // what was read, and what memory held in the end
}

// runs lists a run for each schedule, and for each course that the device can take.
func (p *hazardProgram) runs() (runs []hazardRun) {
	runs = append(runs, p.run("none", nil), p.run("eager", fakegpu.Eager()))
	if p.eager {
		return runs
	}
	runs = append(runs, p.run("lazy", fakegpu.Lazy()))
	for seed := range uint64(5) {
		runs = append(runs, p.run(fmt.Sprintf("random %d", seed), fakegpu.Random(seed)))
	}
	var e fakegpu.Enumerator
	for i := 1; e.Next(); i++ {
		runs = append(runs, p.run(fmt.Sprintf("course %d", i), &e))
	}
	return runs
}

func (p *hazardProgram) run(name string, s fakegpu.Schedule) hazardRun {
	r := hazardRun{schedule: name}
	tk := newTalk(fakegpu.Config{
		Devices: fakegpu.Devices(2, spec.MiB), PageGranularity: 64, BlockingStreams: p.blocking, Schedule: s,
	})
	for _, line := range strings.FieldsFunc(prelude+p.program, func(r rune) bool { return r == '\n' || r == ';' }) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		said := tk.say(line)
		if strings.HasPrefix(line, "read ") {
			r.outcome += said + "\n"
		}
	}
	var lines []string
	for _, h := range tk.gpu.Hazards() {
		lines = append(lines, tk.rename(short(h)))
		r.unordered = r.unordered || h.Kind == fakegpu.Unordered
	}
	r.verdict = strings.Join(lines, "\n")
	tk.gpu.DrainAll()
	for _, name := range []string{"p", "q"} {
		r.outcome += tk.say("read default "+name+":1024") + "\n"
	}
	return r
}

// short tells what matters of a hazard.
func short(h fakegpu.Hazard) string {
	switch {
	case h.Kind == fakegpu.Unordered:
		_, advice, _ := strings.Cut(h.Missing, "): ")
		return shortName(h.First) + ", " + shortName(h.Second) + ": " + advice
	case h.Second != nil:
		return h.Kind.String() + ": " + shortName(h.Second) + ": " + h.Missing
	case h.First != nil:
		return h.Kind.String() + ": " + shortName(h.First) + ": " + h.Missing
	}
	return h.Kind.String() + ": " + h.Missing
}

func shortName(a *fakegpu.Access) string {
	if a.Name != "" {
		return a.Name
	}
	return a.Kind
}
