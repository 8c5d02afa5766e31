package torch

import (
	"errors"
	"slices"
	"strings"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// stageCommands are what a line of a program can tell the allocator or the device to do.
// Streams are numbered from 0, the default stream; pool=N is the pool (0, N); dev=N is a
// device, the first without it.
var stageCommands = map[string]func(s *stage, w *words) error{
	"new":       (*stage).begin, // new [settings=…] [memory=…] [limit=…] [streams=…] [devices=…] [fabric] [patient] [reuse]
	"process":   (*stage).process,
	"malloc":    (*stage).malloc,   // malloc NAME SIZE [stream=N] [thread=N]
	"malloc-at": (*stage).mallocAt, // malloc-at NAME SIZE BASE OFFSET [stream=N]: in the block BASE, free or not
	"free":      (*stage).free,     // free NAME
	"record":    (*stage).record,   // record NAME stream=N
	"configure": func(s *stage, w *words) error { return s.allocator.Configure(strings.Join(w.fields, " ")) },
	"end": func(s *stage, _ *words) error { // closes the allocator, if that can be done
		if a, ok := s.allocator.(interface{ Close() error }); ok {
			return a.Close()
		}
		return nil
	},
	"mark": func(s *stage, _ *words) error { // counts driver calls from here on; see since
		s.marked = s.gpu.Calls()
		return nil
	},
	"empty-cache": func(s *stage, w *words) error { // empty-cache [pool=N]
		if pool := w.pool(); !pool.IsDefault() {
			return s.allocator.EmptyPool(pool)
		}
		return s.allocator.EmptyCache()
	},
	"peer": func(s *stage, w *words) error { // peer dev=N of=N
		return s.allocator.EnablePeerAccess(w.device(), spec.Device(w.number("of", 0)))
	},
	"history": (*stage).history, // history N [off] [clear] [contexts] [skip=ACTION]

	"pool-create": (*stage).poolCreate, // pool-create pool=N [use-on-oom] [no-split]
	"pool-begin":  (*stage).poolBegin,  // pool-begin pool=N [stream=N | thread=N]
	"pool-end": func(s *stage, w *words) error {
		delete(s.begun, poolOf{w.device(), w.pool()})
		return s.allocator.EndAllocateToPool(w.device(), w.pool())
	},
	"pool-release": func(s *stage, w *words) error {
		s.holds[poolOf{w.device(), w.pool()}]--
		return s.allocator.ReleasePool(w.device(), w.pool())
	},
	"use-on-oom": func(s *stage, w *words) error {
		return s.allocator.SetUseOnOOM(w.device(), w.pool(), !w.has("off"))
	},
	"no-split":   func(s *stage, w *words) error { return s.allocator.SetNoSplit(w.device(), w.pool()) },
	"checkpoint": (*stage).checkpoint, // checkpoint NAME pool=N
	"restore":    (*stage).restore,    // restore NAME

	"share": (*stage).share, // share NAME
	"open":  (*stage).open,  // open NAME [cut=N]: without its last N bytes
	"close": (*stage).close, // close NAME

	"busy":        func(s *stage, w *words) error { return s.gpu.Busy(w.device(), s.stream(w)) },
	"drain":       func(s *stage, w *words) error { return s.gpu.Drain(w.device(), s.stream(w)) },
	"device-free": (*stage).deviceFree, // device-free SIZE
	"kernel":      (*stage).kernel,     // kernel [NAME] stream=N: it writes the block
	"wait":        (*stage).wait,       // wait stream=N on=N
	"capture-begin": func(s *stage, w *words) error { // capture-begin stream=N [mode=…]
		mode := map[string]spec.CaptureMode{
			"global": spec.CaptureGlobal, "thread_local": spec.CaptureThreadLocal, "relaxed": spec.CaptureRelaxed,
		}[w.argument("mode", "relaxed")]
		dev, stream := w.device(), s.stream(w)
		if err := s.gpu.BeginCapture(dev, stream, mode); err != nil {
			return err
		}
		s.captured = append(s.captured, spec.DeviceStream{Device: dev, Stream: stream})
		s.makeCurrent()
		return s.allocator.(spec.CaptureMarker).MarkCaptureBegin(dev)
	},
	"capture-end": func(s *stage, w *words) error {
		dev, stream := w.device(), s.stream(w)
		_, err := s.gpu.EndCapture(dev, stream)
		if at := slices.Index(s.captured, spec.DeviceStream{Device: dev, Stream: stream}); at >= 0 {
			s.captured = slices.Delete(s.captured, at, at+1)
			s.makeCurrent()
			err = errors.Join(err, s.allocator.(spec.CaptureMarker).MarkCaptureEnd(dev))
		}
		return err
	},
	"invalidate": func(s *stage, w *words) error { // invalidate stream=N: waits for a captured stream
		return s.gpu.SynchronizeStream(w.device(), s.stream(w))
	},
	"current": func(s *stage, w *words) error { // current stream=N: of all calls but malloc, until a capture begins or ends
		s.current(spec.DeviceStream{Device: w.device(), Stream: s.stream(w)})
		return nil
	},
	"fail": func(s *stage, w *words) error { // fail CALL [nth=N] [error=…]
		return s.gpu.Inject(spec.FaultSpec{Call: w.take(), Nth: w.number("nth", 1), Error: w.argument("error", "unknown")})
	},
}

// ofTheDevice are the commands in which no allocator is called.
var ofTheDevice = map[string]bool{
	"current": true, "busy": true, "drain": true, "device-free": true, "kernel": true, "wait": true, "capture-begin": true, "capture-end": true, "invalidate": true, "fail": true,
}

// stream is the argument stream=N.
func (s *stage) stream(w *words) spec.Stream {
	n := w.number("stream", 0)
	if n >= len(s.streams[w.device()]) {
		w.fail("there is no stream %d", n)
		return 0
	}
	return s.streams[w.device()][n]
}

func (s *stage) malloc(w *words) error {
	name, bytes := w.take(), w.size(w.take())
	p, err := s.allocator.Malloc(spec.Request{
		Device: w.device(), Stream: s.stream(w), Bytes: bytes, Thread: spec.Thread(w.number("thread", 0)),
	})
	if err != nil || p == 0 {
		delete(s.blocks, name)
		return err
	}
	s.blocks[name] = block{at: p, bytes: bytes}
	s.gpu.BeginLifetime(fakegpu.Lifetime{
		Range: spec.Range{Ptr: p, Bytes: bytes}, Device: w.device(), Stream: s.stream(w), Owner: name,
	})
	return nil
}

func (s *stage) mallocAt(w *words) error {
	name, bytes := w.take(), w.size(w.take())
	base, found := s.blocks[w.take()]
	p := base.at + spec.Ptr(w.size(w.take()))
	if !found {
		return nil // it could not be allocated
	}
	if err := s.allocator.(spec.ExactAllocator).MallocAt(spec.Request{Device: w.device(), Stream: s.stream(w), Bytes: bytes}, p); err != nil {
		return err
	}
	s.blocks[name] = block{at: p, bytes: bytes}
	s.gpu.BeginLifetime(fakegpu.Lifetime{
		Range: spec.Range{Ptr: p, Bytes: bytes}, Device: w.device(), Stream: s.stream(w), Owner: name,
	})
	return nil
}

func (s *stage) free(w *words) error {
	name := w.take()
	b := s.blocks[name]
	undo := s.gpu.EndLifetime(b.at)
	err := s.allocator.Free(b.at)
	if err != nil {
		undo()
		return err
	}
	b.freed = true
	s.blocks[name] = b
	return nil
}

func (s *stage) record(w *words) error {
	return s.allocator.RecordStream(s.blocks[w.take()].at, w.device(), s.stream(w))
}

func (s *stage) history(w *words) error {
	o := spec.HistoryOptions{Enabled: !w.has("off"), MaxEntries: int(w.size(w.take())), Clear: w.has("clear"), Level: spec.ContextNever}
	if w.has("contexts") { // and nobody who gathers them
		o.Level = spec.ContextAll
	}
	if name := w.argument("skip", ""); name != "" {
		action, known := spec.ParseAction(name)
		if !known {
			w.fail("there is no action %q", name)
		}
		o.Skip = append(o.Skip, action)
	}
	return s.allocator.RecordHistory(o)
}

func (s *stage) poolBegin(w *words) error {
	filter := spec.ForThread(spec.Thread(w.number("thread", 0)))
	if w.argument("stream", "") != "" {
		filter = spec.ForStream(s.stream(w))
	}
	err := s.allocator.BeginAllocateToPool(w.device(), w.pool(), filter)
	if err == nil {
		p := poolOf{w.device(), w.pool()}
		s.begun[p] = true
		s.holds[p]++
	}
	return err
}

func (s *stage) poolCreate(w *words) error {
	o := spec.PoolOptions{UseOnOOM: w.has("use-on-oom"), NoSplit: w.has("no-split")}
	err := s.allocator.CreatePool(w.device(), w.pool(), o)
	if err == nil {
		s.holds[poolOf{w.device(), w.pool()}]++
	}
	return err
}

func (s *stage) checkpoint(w *words) error {
	name := w.take()
	state, err := s.allocator.Checkpoint(w.device(), w.pool())
	if err == nil {
		s.states[name] = state
	}
	return err
}

func (s *stage) restore(w *words) error {
	delta, err := s.allocator.Restore(w.device(), s.states[w.take()])
	if err == nil {
		s.say("freed: %s", s.names(delta.Freed))
		s.say("created: %s", s.names(delta.Created))
	}
	return err
}

func (s *stage) share(w *words) error {
	name := w.take()
	b, found := s.blocks[name]
	if !found {
		return nil // there was no memory
	}
	h, err := s.allocator.ShareHandle(b.at)
	if err == nil {
		s.handles[name] = h.Handle
	}
	return err
}

func (s *stage) open(w *words) error {
	name := w.take()
	handle := s.handles[name]
	if handle == nil {
		return nil // it was not shared
	}
	if n := w.number("cut", 0); n > 0 {
		handle = handle[:max(len(handle)-n, 0)]
	}
	opened, err := s.allocator.OpenHandle(w.device(), handle)
	if err == nil {
		s.opened[name] = opened
	}
	return err
}

func (s *stage) close(w *words) error {
	name := w.take()
	opened := s.opened[name]
	if opened == nil {
		return nil
	}
	if err := opened.Close(); err != nil {
		return err
	}
	delete(s.opened, name)
	return nil
}

// deviceFree leaves the device so much memory, as if others took the rest.
func (s *stage) deviceFree(w *words) error {
	s.gpu.SetFreeMemory(w.device(), w.size(w.take()))
	return nil
}

func (s *stage) kernel(w *words) error {
	l := spec.Launch{Device: w.device(), Stream: s.stream(w), Name: "kernel"}
	for _, f := range w.fields {
		if b, found := s.blocks[f]; found && !b.freed {
			l.Writes = append(l.Writes, spec.Range{Ptr: b.at, Bytes: b.bytes})
		}
	}
	return s.gpu.Launch(l)
}

// wait makes a stream wait for another.
func (s *stage) wait(w *words) error {
	dev := w.device()
	e, err := s.gpu.CreateEvent(dev)
	if err != nil {
		return err
	}
	if err := s.gpu.RecordEvent(e, dev, s.streams[dev][w.number("on", 0)]); err != nil {
		return err
	}
	if err := s.gpu.WaitEvent(dev, s.stream(w), e); err != nil {
		return err
	}
	return s.gpu.DestroyEvent(e)
}
