package alloc_test

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/alloc"
	"gaugeblock/internal/sizes"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/upstream"
)

// command does something, to the allocator or to the device.
type command func(c *conversation, l line) error

// commands are the commands, by name. Streams are numbered from 0, the default
// stream; pool=N is the pool (0, N).
var commands = map[string]command{
	"malloc": (*conversation).malloc, // malloc NAME SIZE [stream=N] [thread=N]
	"malloc-at": func(c *conversation, l line) error { // malloc-at NAME SIZE BLOCK OFFSET [stream=N]
		p := c.blocks[l.word(2)] + spec.Ptr(l.size(l.word(3)))
		c.blocks[l.word(0)] = p
		return c.allocator.MallocAt(spec.Request{Stream: c.stream(l), Bytes: l.size(l.word(1))}, p)
	},
	"annotate": func(c *conversation, l line) error { // annotate BLOCK OFFSET TEXT
		return c.allocator.AnnotateBlock(c.blocks[l.word(0)]+spec.Ptr(l.size(l.word(1))), l.word(2))
	},
	"free": func(c *conversation, l line) error { // free NAME
		return c.by(l).Free(c.blocks[l.word(0)])
	},
	"record": func(c *conversation, l line) error { // record NAME stream=N
		return c.by(l).RecordStream(c.blocks[l.word(0)], 0, c.stream(l))
	},
	"empty-cache": func(c *conversation, l line) error { // empty-cache [pool=N]
		if pool := l.pool(); !pool.IsDefault() {
			return c.by(l).EmptyPool(pool)
		}
		return c.by(l).EmptyCache()
	},
	"close":     func(c *conversation, _ line) error { return c.allocator.Close() },
	"configure": func(c *conversation, l line) error { return c.allocator.Configure(l.settings()) }, // configure KEY:VALUE,…
	"limit": func(c *conversation, l line) error { // limit SIZE
		return c.limit(l.size(l.word(0)))
	},

	"pool-create": func(c *conversation, l line) error { // pool-create pool=N [use-on-oom] [no-split]
		return c.allocator.CreatePool(0, l.pool(), spec.PoolOptions{UseOnOOM: l.d.HasArg("use-on-oom"), NoSplit: l.d.HasArg("no-split")})
	},
	"pool-begin":   (*conversation).poolBegin, // pool-begin pool=N (stream=N | thread=N | capture=N)
	"pool-end":     func(c *conversation, l line) error { return c.by(l).EndAllocateToPool(0, l.pool()) },
	"pool-release": func(c *conversation, l line) error { return c.allocator.ReleasePool(0, l.pool()) },
	"use-on-oom": func(c *conversation, l line) error { // use-on-oom pool=N [off]
		return c.allocator.SetUseOnOOM(0, l.pool(), !l.d.HasArg("off"))
	},
	"no-split": func(c *conversation, l line) error { return c.allocator.SetNoSplit(0, l.pool()) },

	"checkpoint": func(c *conversation, l line) error { // checkpoint NAME pool=N
		state, err := c.by(l).Checkpoint(0, l.pool())
		c.states[l.word(0)] = state
		return err
	},
	"restore": (*conversation).restore, // restore NAME

	"busy":        func(c *conversation, l line) error { return c.gpu.Busy(0, c.stream(l)) },
	"drain":       func(c *conversation, l line) error { return c.gpu.Drain(0, c.stream(l)) },
	"device-free": (*conversation).deviceFree, // device-free SIZE
	"kernel": func(c *conversation, l line) error {
		return c.gpu.Launch(spec.Launch{Stream: c.stream(l), Name: "kernel"})
	},
	"wait":          (*conversation).wait,         // wait stream=N on=N
	"capture-begin": (*conversation).captureBegin, // capture-begin stream=N [mode=relaxed]
	"capture-end": func(c *conversation, l line) error {
		_, err := c.gpu.EndCapture(0, c.stream(l))
		return err
	},
	"class": func(c *conversation, l line) error { // class NAME stream=N
		return c.allocator.SetReserveClass(c.stream(l), l.word(0))
	},
	"class-reserve": func(c *conversation, l line) error { // class-reserve NAME FRACTION
		f, err := strconv.ParseFloat(l.word(1), 64)
		l.must(err)
		return c.allocator.SetDefaultReserve(l.word(0), f)
	},
	"invalidate": func(c *conversation, l line) error { // invalidate stream=N: an illegal call
		if err := c.gpu.SynchronizeStream(0, c.stream(l)); err == nil {
			l.t.Fatalf("%s: the stream is not captured", l.d.Pos)
		}
		return nil
	},
	"mark-begin": func(c *conversation, _ line) error { return c.allocator.MarkCaptureBegin(0) },
	"mark-end":   func(c *conversation, _ line) error { return c.allocator.MarkCaptureEnd(0) },
	"fraction": func(c *conversation, l line) error { // fraction F
		f, err := strconv.ParseFloat(l.word(0), 64)
		l.must(err)
		return c.allocator.SetMemoryFraction(0, f)
	},
	"fail": func(c *conversation, l line) error { // fail CALL [nth=N] [error=out_of_memory]
		c.unsure = c.unsure || l.word(0) == "ReleasePage"
		return c.gpu.Inject(spec.FaultSpec{Call: l.word(0), Nth: l.number("nth", "1"), Error: l.argument("error", "unknown")})
	},
}

func (c *conversation) malloc(l line) error {
	p, err := c.allocator.Malloc(spec.Request{
		Stream: c.stream(l), Bytes: l.size(l.word(1)), Thread: spec.Thread(l.number("thread", "0")),
	})
	c.blocks[l.word(0)] = p
	return err
}

func (c *conversation) poolBegin(l line) error {
	filter := spec.ForStream(c.stream(l))
	switch {
	case l.d.HasArg("thread"):
		filter = spec.ForThread(spec.Thread(l.number("thread", "")))
	case l.d.HasArg("capture"):
		status, err := c.gpu.CaptureStatus(0, c.streams[l.number("capture", "")])
		if err != nil {
			return err
		}
		filter = spec.ForCapture(c.gpu, status.ID)
	}
	return c.allocator.BeginAllocateToPool(0, l.pool(), filter)
}

// restore tells, beside what the allocator did, what its caller is told.
func (c *conversation) restore(l line) error {
	delta, err := c.allocator.Restore(0, c.states[l.word(0)])
	if err == nil {
		c.say("freed: %s", c.names(delta.Freed))
		c.say("created: %s", c.names(delta.Created))
	}
	return err
}

// deviceFree leaves the device so much memory, as if others took the rest.
func (c *conversation) deviceFree(l line) error {
	c.gpu.SetFreeMemory(0, l.size(l.word(0)))
	c.unsure = true
	return nil
}

// wait makes a stream wait for another.
func (c *conversation) wait(l line) error {
	e, err := c.gpu.CreateEvent(0)
	if err != nil {
		return err
	}
	if err := c.gpu.RecordEvent(e, 0, c.streams[l.number("on", "0")]); err != nil {
		return err
	}
	if err := c.gpu.WaitEvent(0, c.stream(l), e); err != nil {
		return err
	}
	return c.gpu.DestroyEvent(e)
}

func (c *conversation) captureBegin(l line) error {
	mode := map[string]spec.CaptureMode{
		"global": spec.CaptureGlobal, "thread_local": spec.CaptureThreadLocal, "relaxed": spec.CaptureRelaxed,
	}[l.argument("mode", "relaxed")]
	return c.gpu.BeginCapture(0, c.stream(l), mode)
}

// by is the allocator for the caller whose current stream is the argument current=N; without it,
// for the one whose default stream is.
func (c *conversation) by(l line) alloc.Abilities {
	stream := c.streams[l.number("current", "0")]
	caller := spec.Caller{Current: spec.DeviceStream{Stream: stream}}
	return c.allocator.For(caller).(alloc.Abilities)
}

// stream is the argument stream=N, the default stream without it.
func (c *conversation) stream(l line) spec.Stream { return c.streams[l.number("stream", "0")] }

// line is a line of a transcript, and the test that reads it.
type line struct {
	t *testing.T
	d *datadriven.TestData
}

func (l line) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatalf("%s: %v", l.d.Pos, err)
	}
}

// word is the i-th argument, of those without a value.
func (l line) word(i int) string {
	l.t.Helper()
	for _, a := range l.d.CmdArgs {
		if len(a.Vals) > 0 {
			continue
		}
		if i == 0 {
			return a.Key
		}
		i--
	}
	l.t.Fatalf("%s: an argument is missing", l.d.Pos)
	return ""
}

// settings is the whole of what follows the command.
func (l line) settings() string {
	words := make([]string, len(l.d.CmdArgs))
	for i := range l.d.CmdArgs {
		words[i] = l.d.CmdArgs[i].String()
	}
	return strings.Join(words, " ")
}

// argument is the value of key=value, or what stands in for it.
func (l line) argument(key, missing string) string {
	for _, a := range l.d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return strings.Join(a.Vals, ",")
		}
	}
	return missing
}

func (l line) number(key, missing string) int {
	l.t.Helper()
	n, err := strconv.Atoi(l.argument(key, missing))
	l.must(err)
	return n
}

func (l line) pool() spec.PoolID {
	l.t.Helper()
	return spec.PoolID{User: uint64(l.number("pool", "0"))}
}

// rules are the argument rules=(…): names of the fields of upstream.Rules that are true, and of the
// constants of its other fields.
func (l line) rules() (r upstream.Rules) {
	l.t.Helper()
	for _, a := range l.d.CmdArgs {
		if a.Key != "rules" {
			continue
		}
		for _, name := range a.Vals {
			switch name {
			case "TiesByBlock":
				r.Ties = upstream.TiesByBlock
			case "TiesBySegment":
				r.Ties = upstream.TiesBySegment
			case "CapturesByMark":
				r.Captures = upstream.CapturesByMark
			case "ExactAddressInUserMetadata":
				r.ExactAddress = upstream.ExactAddressInUserMetadata
			case "ExactAddressInInternalMetadata":
				r.ExactAddress = upstream.ExactAddressInInternalMetadata
			case "KeyThrowOnOOM":
				r.Settings.Keys |= settings.KeyThrowOnOOM
			case "KeyReserve":
				r.Settings.Keys |= settings.KeyReserve
			default:
				reflect.ValueOf(&r).Elem().FieldByName(name).SetBool(true)
			}
		}
	}
	return r
}

// size reads "5MiB", or sums like "20MiB+512B".
func (l line) size(text string) (sum uint64) {
	l.t.Helper()
	sum, err := sizes.Parse(text)
	l.must(err)
	return sum
}
