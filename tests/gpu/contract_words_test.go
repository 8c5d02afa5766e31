package gpu

import (
	"fmt"
	"strconv"

	"gaugeblock/spec"
)

// The words of the conversations. NAME gets a name, other names are of things made
// before; R is NAME+OFFSET:BYTES. DEVICE, where a thing is made, is 0 if it is not said;
// what is done with a thing is done on its device. default is the default stream of device
// 0, default1 that of device 1.
var contractWords = map[string]func(tk *talk, a []string) string{
	// malloc NAME SIZE [DEVICE] | free NAME
	"malloc": func(tk *talk, a []string) string {
		p, err := tk.Malloc(deviceNumber(a[2]), size(a[1]))
		if err == nil && p%512 != 0 {
			return "an address that is no multiple of 512"
		}
		return tk.giveOn(a[0], uint64(p), a[2], err)
	},
	"free": func(tk *talk, a []string) string { return answer(tk.Free(tk.on[a[0]], spec.Ptr(tk.name(a[0])))) },
	// device N does what can be asked of a device by number
	"device": func(tk *talk, a []string) string {
		n, _ := strconv.Atoi(a[0])
		_, err := tk.Properties(spec.Device(n))
		_, _, memory := tk.MemInfo(spec.Device(n))
		_, malloc := tk.Malloc(spec.Device(n), 512)
		return fmt.Sprintf("properties %s; memory %s; malloc %s", answer(err), answer(memory), answer(malloc))
	},

	// reserve NAME SIZE [DEVICE] | unreserve NAME SIZE | page NAME SIZE [DEVICE] | fabric NAME SIZE
	// | release NAME
	"reserve": func(tk *talk, a []string) string {
		p, err := tk.ReserveAddress(deviceNumber(a[2]), size(a[1]))
		return tk.giveOn(a[0], uint64(p), a[2], err)
	},
	"unreserve": func(tk *talk, a []string) string {
		return answer(tk.FreeAddress(spec.Ptr(tk.name(a[0])), size(a[1])))
	},
	"page": func(tk *talk, a []string) string {
		h, err := tk.CreatePage(deviceNumber(a[2]), size(a[1]), spec.SharePOSIX)
		return tk.giveOn(a[0], uint64(h), a[2], err)
	},
	"fabric": func(tk *talk, a []string) string {
		h, err := tk.CreatePage(0, size(a[1]), spec.ShareFabric)
		return tk.give(a[0], uint64(h), err)
	},
	"release": func(tk *talk, a []string) string { return answer(tk.ReleasePage(spec.PageHandle(tk.name(a[0])))) },
	// map R PAGE | access R [DEVICE] | unmap R
	"map": func(tk *talk, a []string) string {
		r := tk.span(a[0])
		return answer(tk.MapPage(r.Ptr, r.Bytes, spec.PageHandle(tk.name(a[1]))))
	},
	"access": func(tk *talk, a []string) string {
		r := tk.span(a[0])
		return answer(tk.SetAccess(r.Ptr, r.Bytes, deviceNumber(a[1])))
	},
	"unmap": func(tk *talk, a []string) string {
		r := tk.span(a[0])
		return answer(tk.UnmapPage(r.Ptr, r.Bytes))
	},
	// export PAGE
	"export": func(tk *talk, a []string) string {
		h, err := tk.ExportPage(spec.PageHandle(tk.name(a[0])), spec.SharePOSIX)
		tk.handles[a[0]] = h
		return answer(err)
	},
	// import NAME PAGE: what PAGE was exported as, in this same process
	"import": func(tk *talk, a []string) string {
		h, err := tk.ImportPage(tk.ProcessID(), spec.SharePOSIX, tk.handles[a[1]])
		return tk.give(a[0], uint64(h), err)
	},
	// share NAME | open NAME PIECE: what PIECE was shared as
	"share": func(tk *talk, a []string) string {
		h, err := tk.ShareMemory(0, spec.Ptr(tk.name(a[0])))
		tk.handles[a[0]] = h
		return answer(err)
	},
	"open": func(tk *talk, a []string) string {
		p, err := tk.OpenMemory(0, tk.handles[a[1]])
		return tk.give(a[0], uint64(p), err)
	},
	"close": func(tk *talk, a []string) string { return answer(tk.CloseMemory(0, spec.Ptr(tk.name(a[0])))) },
	// reach DEVICE PEER: from the first the memory of the second
	"reach": func(tk *talk, a []string) string {
		return answer(tk.EnablePeerAccess(deviceNumber(a[0]), deviceNumber(a[1])))
	},
	// peer DEVICE: from device 0
	"peer": func(tk *talk, a []string) string {
		n, _ := strconv.Atoi(a[0])
		able, err := tk.CanAccessPeer(0, spec.Device(n))
		return fmt.Sprintf("can: %v, %s; enable: %s", able, answer(err), answer(tk.EnablePeerAccess(0, spec.Device(n))))
	},

	// stream NAME [DEVICE] | destroy-stream NAME | hold STREAM | let-go STREAM
	"stream": func(tk *talk, a []string) string {
		s, err := tk.CreateStream(deviceNumber(a[1]))
		return tk.giveOn(a[0], uint64(s), a[1], err)
	},
	"destroy-stream": func(tk *talk, a []string) string {
		return answer(tk.DestroyStream(tk.on[a[0]], tk.stream(a[0])))
	},
	"hold": func(tk *talk, a []string) string {
		release, err := tk.hold(tk.on[a[0]], tk.stream(a[0]))
		if err == nil {
			tk.releases[a[0]] = release
		}
		return answer(err)
	},
	"let-go": func(tk *talk, a []string) string {
		release, held := tk.releases[a[0]]
		if !held {
			return "nothing holds it"
		}
		release()
		return "ok"
	},
	"sync":        func(tk *talk, a []string) string { return answer(tk.SynchronizeStream(tk.on[a[0]], tk.stream(a[0]))) },
	"sync-device": func(tk *talk, a []string) string { return answer(tk.SynchronizeDevice(deviceNumber(a[0]))) },

	// event NAME [DEVICE] | record EVENT STREAM | query EVENT | sync-event EVENT | wait STREAM
	// EVENT
	"event": func(tk *talk, a []string) string {
		e, err := tk.CreateEvent(deviceNumber(a[1]))
		return tk.giveOn(a[0], uint64(e), a[1], err)
	},
	"record": func(tk *talk, a []string) string {
		return answer(tk.RecordEvent(spec.EventHandle(tk.name(a[0])), tk.on[a[1]], tk.stream(a[1])))
	},
	"query": func(tk *talk, a []string) string {
		complete, err := tk.QueryEvent(spec.EventHandle(tk.name(a[0])))
		if err != nil {
			return answer(err)
		}
		return map[bool]string{true: "complete", false: "not complete"}[complete]
	},
	"sync-event": func(tk *talk, a []string) string {
		return answer(tk.SynchronizeEvent(spec.EventHandle(tk.name(a[0]))))
	},
	"wait": func(tk *talk, a []string) string {
		return answer(tk.WaitEvent(tk.on[a[0]], tk.stream(a[0]), spec.EventHandle(tk.name(a[1]))))
	},
	"destroy-event": func(tk *talk, a []string) string {
		return answer(tk.DestroyEvent(spec.EventHandle(tk.name(a[0]))))
	},

	// fill R STREAM VALUE | copy R NAME STREAM | read R STREAM | kernel STREAM [R]
	"fill": func(tk *talk, a []string) string {
		value, _ := strconv.Atoi(a[2])
		return answer(tk.Fill(tk.on[a[1]], tk.stream(a[1]), tk.span(a[0]), byte(value)))
	},
	"copy": func(tk *talk, a []string) string {
		to, from := tk.span(a[0]), tk.span(a[1])
		return answer(tk.Copy(spec.Copy{
			Device: tk.on[a[2]], Stream: tk.stream(a[2]), Bytes: to.Bytes,
			Dst: to.Ptr, DstDevice: tk.deviceOf(a[0]), Src: from.Ptr, SrcDevice: tk.deviceOf(a[1]),
		}))
	},
	"read": func(tk *talk, a []string) string {
		data, err := tk.ReadBack(tk.on[a[1]], tk.stream(a[1]), tk.span(a[0]))
		if err != nil {
			return answer(err)
		}
		return inRuns(data)
	},
	"kernel": func(tk *talk, a []string) string {
		l := spec.Launch{Device: tk.on[a[0]], Stream: tk.stream(a[0]), Name: "k"}
		if a[1] != "" {
			l.Writes = []spec.Range{tk.span(a[1])}
		}
		return answer(tk.Launch(l))
	},

	// lost: whether work has touched memory that is not there. It waits for devices 0 and 1.
	"lost": func(tk *talk, _ []string) string { return tk.lost() },

	// begin STREAM MODE | end STREAM GRAPH | status STREAM | after NODE | forbidden
	"begin": func(tk *talk, a []string) string {
		mode := map[string]spec.CaptureMode{"global": spec.CaptureGlobal, "thread_local": spec.CaptureThreadLocal, "relaxed": spec.CaptureRelaxed}[a[1]]
		return answer(tk.BeginCapture(tk.on[a[0]], tk.stream(a[0]), mode))
	},
	"end": func(tk *talk, a []string) string {
		g, err := tk.EndCapture(tk.on[a[0]], tk.stream(a[0]))
		return tk.give(a[1], uint64(g), err)
	},
	"status": func(tk *talk, a []string) string {
		status, err := tk.CaptureStatus(tk.on[a[0]], tk.stream(a[0]))
		switch {
		case err != nil:
			return answer(err)
		case status.Status == spec.CaptureNone:
			return "not captured"
		case status.Status == spec.CaptureInvalidated:
			return "invalidated"
		}
		return "captured, next after " + tk.nodeNames(status.Terminals)
	},
	"after": func(tk *talk, a []string) string {
		n, _ := strconv.Atoi(a[0][1:])
		before, err := tk.NodeDependencies(tk.nodes[n-1])
		if err != nil {
			return answer(err)
		}
		return tk.nodeNames(before)
	},
	"forbidden": func(tk *talk, _ []string) string { return fmt.Sprint(tk.FreeForbidden()) },

	// instantiate NAME GRAPH | launch EXEC STREAM | destroy-graph GRAPH | destroy-exec EXEC
	"instantiate": func(tk *talk, a []string) string {
		x, err := tk.Instantiate(spec.Graph(tk.name(a[1])))
		return tk.give(a[0], uint64(x), err)
	},
	"launch": func(tk *talk, a []string) string {
		return answer(tk.LaunchGraph(spec.GraphExec(tk.name(a[0])), tk.on[a[1]], tk.stream(a[1])))
	},
	"destroy-graph": func(tk *talk, a []string) string { return answer(tk.DestroyGraph(spec.Graph(tk.name(a[0])))) },
	"destroy-exec": func(tk *talk, a []string) string {
		return answer(tk.DestroyGraphExec(spec.GraphExec(tk.name(a[0]))))
	},
}

// inRuns writes bytes as "3x1 5x2".
func inRuns(data []byte) string {
	text := ""
	for i := 0; i < len(data); {
		j := i
		for j < len(data) && data[j] == data[i] {
			j++
		}
		if text != "" {
			text += " "
		}
		text += fmt.Sprintf("%dx%d", j-i, data[i])
		i = j
	}
	return text
}
