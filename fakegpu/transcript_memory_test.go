package fakegpu_test

import (
	"fmt"
	"strings"

	"gaugeblock/spec"
)

var memoryCommands = map[string]command{
	// malloc NAME SIZE [DEVICE]
	"malloc": func(tk *talk, a []string) string {
		p, err := tk.gpu.Malloc(tk.device(arg(a, 2)), tk.bytes(a[1]))
		if err == nil {
			tk.names[a[0]] = p
		}
		return answer(err, "%v", p)
	},
	// free NAME [DEVICE]
	"free": func(tk *talk, a []string) string {
		return answer(tk.gpu.Free(tk.device(arg(a, 1)), tk.ptr(a[0])), "ok")
	},
	// meminfo [DEVICE]
	"meminfo": func(tk *talk, a []string) string {
		free, total, err := tk.gpu.MemInfo(tk.device(arg(a, 0)))
		return answer(err, "%s of %s free", spec.FormatSize(free), spec.FormatSize(total))
	},
	// device-free SIZE [DEVICE]
	"device-free": func(tk *talk, a []string) string {
		tk.gpu.SetFreeMemory(tk.device(arg(a, 1)), tk.bytes(a[0]))
		return "ok"
	},
	// reserve NAME SIZE [DEVICE]
	"reserve": func(tk *talk, a []string) string {
		p, err := tk.gpu.ReserveAddress(tk.device(arg(a, 2)), tk.bytes(a[1]))
		if err == nil {
			tk.names[a[0]] = p
		}
		return answer(err, "%v", p)
	},
	// unreserve NAME SIZE
	"unreserve": func(tk *talk, a []string) string {
		return answer(tk.gpu.FreeAddress(tk.ptr(a[0]), tk.bytes(a[1])), "ok")
	},
	// page NAME SIZE [DEVICE] [fabric]
	"page": func(tk *talk, a []string) string {
		h, err := tk.gpu.CreatePage(tk.device(arg(a, 2)), tk.bytes(a[1]), share(a))
		if err == nil {
			tk.names[a[0]] = h
		}
		return answer(err, "ok")
	},
	// release PAGE
	"release": func(tk *talk, a []string) string {
		return answer(tk.gpu.ReleasePage(tk.page(a[0])), "ok")
	},
	// map PAGE PTR SIZE
	"map": func(tk *talk, a []string) string {
		return answer(tk.gpu.MapPage(tk.ptr(a[1]), tk.bytes(a[2]), tk.page(a[0])), "ok")
	},
	// access PTR SIZE [DEVICE]
	"access": func(tk *talk, a []string) string {
		return answer(tk.gpu.SetAccess(tk.ptr(a[0]), tk.bytes(a[1]), tk.device(arg(a, 2))), "ok")
	},
	// unmap PTR SIZE
	"unmap": func(tk *talk, a []string) string {
		return answer(tk.gpu.UnmapPage(tk.ptr(a[0]), tk.bytes(a[1])), "ok")
	},
	// export NAME PAGE [fabric]
	"export": func(tk *talk, a []string) string {
		h, err := tk.gpu.ExportPage(tk.page(a[1]), share(a))
		tk.names[a[0]] = h
		return answer(err, "%d bytes", len(h))
	},
	// import PAGE HANDLE PROCESS [fabric]
	"import": func(tk *talk, a []string) string {
		pid := uint64(99)
		if p := tk.processes[a[2]]; p != nil {
			pid = p.ProcessID()
		}
		h, err := tk.gpu.ImportPage(pid, share(a), tk.handle(a[1]))
		if err == nil {
			tk.names[a[0]] = h
		}
		return answer(err, "ok")
	},
	// share NAME PTR [DEVICE]
	"share": func(tk *talk, a []string) string {
		h, err := tk.gpu.ShareMemory(tk.device(arg(a, 2)), tk.ptr(a[1]))
		tk.names[a[0]] = h
		return answer(err, "%d bytes", len(h))
	},
	// open NAME HANDLE [DEVICE]
	"open": func(tk *talk, a []string) string {
		p, err := tk.gpu.OpenMemory(tk.device(arg(a, 2)), tk.handle(a[1]))
		if err == nil {
			tk.names[a[0]] = p
		}
		return answer(err, "%v", p)
	},
	// close PTR [DEVICE]
	"close": func(tk *talk, a []string) string {
		return answer(tk.gpu.CloseMemory(tk.device(arg(a, 1)), tk.ptr(a[0])), "ok")
	},
	// can-access DEVICE PEER
	"can-access": func(tk *talk, a []string) string {
		can, err := tk.gpu.CanAccessPeer(tk.device(a[0]), tk.device(a[1]))
		return answer(err, "%v", can)
	},
	// enable-peer DEVICE PEER
	"enable-peer": func(tk *talk, a []string) string {
		return answer(tk.gpu.EnablePeerAccess(tk.device(a[0]), tk.device(a[1])), "ok")
	},
	"leaks": func(tk *talk, _ []string) string {
		leaks := tk.gpu.Leaks()
		return fmt.Sprintf("%d leaks%s", len(leaks), indent(leaks))
	},
	"exit": func(tk *talk, _ []string) string {
		tk.gpu.Exit()
		return "ok"
	},
}

// share is the share type that arguments ask for.
func share(a []string) spec.ShareType {
	if a[len(a)-1] == "fabric" {
		return spec.ShareFabric
	}
	return spec.SharePOSIX
}

// handle understands the name of a handle, and "h cut" for one that is cut short.
func (tk *talk) handle(name string) []byte {
	name, cut := strings.CutSuffix(name, "-cut")
	h := named(tk, name, []byte("nonsense nonsense nonsense"))
	if cut {
		h = h[:len(h)-1]
	}
	return h
}

// indent lists lines below an answer.
func indent(lines []string) string {
	var s strings.Builder
	for _, l := range lines {
		s.WriteString("\n    " + l)
	}
	return s.String()
}
