package fakegpu_test

import (
	"fmt"
	"strings"

	"gaugeblock/spec"
)

var workCommands = map[string]command{
	// stream NAME [DEVICE]
	"stream": func(tk *talk, a []string) string {
		dev := tk.device(arg(a, 1))
		s, err := tk.gpu.CreateStream(dev)
		if err == nil {
			tk.names[a[0]] = streamName{dev, s}
		}
		return answer(err, "%v", s)
	},
	// add-stream NAME HANDLE [DEVICE]
	"add-stream": func(tk *talk, a []string) string {
		s := streamName{dev: tk.device(arg(a, 2))}
		_, _ = fmt.Sscan(a[1], (*uint64)(&s.handle))
		err := tk.gpu.AddStream(s.dev, s.handle)
		if err == nil {
			tk.names[a[0]] = s
		}
		return answer(err, "ok")
	},
	// mistake NAME STREAM DEVICE: the stream's handle with another device
	"mistake": func(tk *talk, a []string) string {
		tk.names[a[0]] = streamName{tk.device(a[2]), tk.stream(a[1]).handle}
		return "ok"
	},
	// destroy-stream STREAM
	"destroy-stream": onStream(func(tk *talk, s streamName, _ []string) string {
		return answer(tk.gpu.DestroyStream(s.dev, s.handle), "ok")
	}),
	// busy STREAM
	"busy": onStream(func(tk *talk, s streamName, _ []string) string {
		return answer(tk.gpu.Busy(s.dev, s.handle), "ok")
	}),
	// drain STREAM
	"drain": onStream(func(tk *talk, s streamName, _ []string) string {
		return answer(tk.gpu.Drain(s.dev, s.handle), "ok")
	}),
	"drain-all": func(tk *talk, _ []string) string {
		tk.gpu.DrainAll()
		return "ok"
	},
	// event NAME [DEVICE]
	"event": func(tk *talk, a []string) string {
		e, err := tk.gpu.CreateEvent(tk.device(arg(a, 1)))
		if err == nil {
			tk.names[a[0]] = e
		}
		return answer(err, "ok")
	},
	// destroy-event EVENT
	"destroy-event": func(tk *talk, a []string) string {
		return answer(tk.gpu.DestroyEvent(tk.event(a[0])), "ok")
	},
	// record EVENT STREAM
	"record": func(tk *talk, a []string) string {
		s := tk.stream(a[1])
		return answer(tk.gpu.RecordEvent(tk.event(a[0]), s.dev, s.handle), "ok")
	},
	// query EVENT
	"query": func(tk *talk, a []string) string {
		complete, err := tk.gpu.QueryEvent(tk.event(a[0]))
		if complete {
			return answer(err, "complete")
		}
		return answer(err, "not ready")
	},
	// sync-event EVENT
	"sync-event": func(tk *talk, a []string) string {
		return answer(tk.gpu.SynchronizeEvent(tk.event(a[0])), "ok")
	},
	// sync STREAM
	"sync": onStream(func(tk *talk, s streamName, _ []string) string {
		return answer(tk.gpu.SynchronizeStream(s.dev, s.handle), "ok")
	}),
	// sync-device [DEVICE]
	"sync-device": func(tk *talk, a []string) string {
		return answer(tk.gpu.SynchronizeDevice(tk.device(arg(a, 0))), "ok")
	},
	// wait STREAM EVENT
	"wait": onStream(func(tk *talk, s streamName, a []string) string {
		return answer(tk.gpu.WaitEvent(s.dev, s.handle, tk.event(a[0])), "ok")
	}),
	// kernel STREAM NAME [reads RANGE...] [writes RANGE...]
	"kernel": onStream(func(tk *talk, s streamName, a []string) string {
		l := spec.Launch{Device: s.dev, Stream: s.handle, Name: a[0]}
		into := &l.Reads
		for _, word := range a[1:] {
			switch word {
			case "reads":
				into = &l.Reads
			case "writes":
				into = &l.Writes
			default:
				*into = append(*into, tk.rng(word))
			}
		}
		return answer(tk.gpu.Launch(l), "ok")
	}),
	// fill STREAM RANGE BYTE
	"fill": onStream(func(tk *talk, s streamName, a []string) string {
		var value uint8
		_, _ = fmt.Sscan(a[1], &value)
		return answer(tk.gpu.Fill(s.dev, s.handle, tk.rng(a[0]), value), "ok")
	}),
	// copy STREAM DST SRC SIZE [DSTDEVICE SRCDEVICE]
	"copy": onStream(func(tk *talk, s streamName, a []string) string {
		return answer(tk.gpu.Copy(spec.Copy{
			Device: s.dev, Stream: s.handle, Bytes: tk.bytes(a[2]),
			Dst: tk.ptr(a[0]), DstDevice: tk.device(arg(a, 3)),
			Src: tk.ptr(a[1]), SrcDevice: tk.device(arg(a, 4)),
		}), "ok")
	}),
	// read STREAM RANGE
	"read": onStream(func(tk *talk, s streamName, a []string) string {
		data, err := tk.gpu.ReadBack(s.dev, s.handle, tk.rng(a[0]))
		return answer(err, "% x", data)
	}),
	"violations": func(tk *talk, _ []string) string {
		var lines []string
		for _, v := range tk.gpu.Violations() {
			lines = append(lines, v.String())
		}
		return fmt.Sprintf("%d violations%s", len(lines), indent(lines))
	},
}

// onStream makes a command whose first argument is a stream.
func onStream(do func(tk *talk, s streamName, args []string) string) command {
	return func(tk *talk, a []string) string { return do(tk, tk.stream(a[0]), a[1:]) }
}

var captureCommands = map[string]command{
	// begin STREAM [MODE]
	"begin": onStream(func(tk *talk, s streamName, a []string) string {
		modes := map[string]spec.CaptureMode{
			"global": spec.CaptureGlobal, "thread_local": spec.CaptureThreadLocal, "": spec.CaptureRelaxed, "odd": 7,
		}
		return answer(tk.gpu.BeginCapture(s.dev, s.handle, modes[arg(a, 0)]), "ok")
	}),
	// end STREAM GRAPH
	"end": onStream(func(tk *talk, s streamName, a []string) string {
		g, err := tk.gpu.EndCapture(s.dev, s.handle)
		if err == nil {
			tk.names[a[0]] = g
		}
		return answer(err, "ok")
	}),
	// status STREAM
	"status": onStream(func(tk *talk, s streamName, _ []string) string {
		st, err := tk.gpu.CaptureStatus(s.dev, s.handle)
		states := []string{"not captured", "captured", "invalidated"}
		if st.Status != spec.CaptureActive {
			return answer(err, "%s", states[st.Status])
		}
		return answer(err, "captured %d, next after %s", st.ID, tk.nodeNames(st.Terminals))
	}),
	// node NAME STREAM: gives the stream's only terminal a name
	"node": func(tk *talk, a []string) string {
		s := tk.stream(a[1])
		st, err := tk.gpu.CaptureStatus(s.dev, s.handle)
		if err != nil || len(st.Terminals) != 1 {
			return answer(err, "%d terminals", len(st.Terminals))
		}
		tk.names[a[0]] = st.Terminals[0]
		return "ok"
	},
	// after NODE
	"after": func(tk *talk, a []string) string {
		nodes, err := tk.gpu.NodeDependencies(named(tk, a[0], spec.GraphNode(0xbad)))
		return answer(err, "%s", tk.nodeNames(nodes))
	},
	"free-forbidden": func(tk *talk, _ []string) string { return fmt.Sprint(tk.gpu.FreeForbidden()) },
	// instantiate EXEC GRAPH
	"instantiate": func(tk *talk, a []string) string {
		x, err := tk.gpu.Instantiate(named(tk, a[1], spec.Graph(0xbad)))
		if err == nil {
			tk.names[a[0]] = x
		}
		return answer(err, "ok")
	},
	// launch STREAM EXEC
	"launch": onStream(func(tk *talk, s streamName, a []string) string {
		return answer(tk.gpu.LaunchGraph(named(tk, a[0], spec.GraphExec(0xbad)), s.dev, s.handle), "ok")
	}),
	// destroy-graph GRAPH
	"destroy-graph": func(tk *talk, a []string) string {
		return answer(tk.gpu.DestroyGraph(named(tk, a[0], spec.Graph(0xbad))), "ok")
	},
	// destroy-exec EXEC
	"destroy-exec": func(tk *talk, a []string) string {
		return answer(tk.gpu.DestroyGraphExec(named(tk, a[0], spec.GraphExec(0xbad))), "ok")
	},
}

// nodeNames writes nodes by the names that they were given.
func (tk *talk) nodeNames(nodes []spec.GraphNode) string {
	names := []string{}
	for _, n := range nodes {
		name := "?"
		for candidate, v := range tk.names {
			if v == any(n) {
				name = candidate
			}
		}
		names = append(names, name)
	}
	return "[" + strings.Join(names, " ") + "]"
}
