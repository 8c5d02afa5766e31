package fakegpu_test

import (
	"fmt"
	"strings"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

var otherCommands = map[string]command{
	// fail CALL NTH ERROR
	"fail": func(tk *talk, a []string) string {
		f := spec.FaultSpec{Call: a[0], Error: a[2]}
		_, _ = fmt.Sscan(a[1], &f.Nth)
		if f.Error == "launch_failure" { // of which traces know nothing
			return answer(tk.gpu.FailCall(f.Call, f.Nth, fakegpu.LaunchFailure(f.Call)), "ok")
		}
		return answer(tk.gpu.Inject(f), "ok")
	},
	"calls": func(tk *talk, _ []string) string {
		var counts []string
		for _, c := range tk.gpu.Calls() {
			counts = append(counts, fmt.Sprintf("%s %d", c.Call, c.Count))
		}
		return strings.Join(counts, ", ")
	},
	"pending-faults": func(tk *talk, _ []string) string { return fmt.Sprint(tk.gpu.PendingFaults()) },
	// script [DEVICE]
	"script": func(tk *talk, a []string) string {
		dev := tk.device(arg(a, 0))
		tk.scripts[dev] = fakegpu.NewScript()
		tk.gpu.UseScript(dev, tk.scripts[dev])
		return "ok"
	},
	// push ADDRESS SIZE
	"push": func(tk *talk, a []string) string {
		tk.scripts[0].Push(address(a[0]), tk.bytes(a[1]))
		return "ok"
	},
	// push-range ADDRESS
	"push-range": func(tk *talk, a []string) string {
		tk.scripts[0].PushRange(address(a[0]))
		return "ok"
	},
	// set-pieces [ADDRESS SIZE]...
	"set-pieces": func(tk *talk, a []string) string {
		tk.scripts[0].SetPieces(tk.ranges(a))
		return "ok"
	},
	// set-ranges [ADDRESS SIZE]...
	"set-ranges": func(tk *talk, a []string) string {
		tk.scripts[0].SetRanges(tk.ranges(a))
		return "ok"
	},
	// set-pool [ADDRESS SIZE]...
	"set-pool": func(tk *talk, a []string) string {
		tk.scripts[0].SetPool(tk.ranges(a))
		return "ok"
	},
	// choose [last]: the last candidate is chosen; without the word, nothing chooses
	"choose": func(tk *talk, a []string) string {
		tk.scripts[0].Choose(nil)
		if arg(a, 0) == "last" {
			tk.scripts[0].Choose(func(c fakegpu.Choice) spec.Ptr {
				if len(c.Candidates) == 0 {
					return 0
				}
				return c.Candidates[len(c.Candidates)-1]
			})
		}
		return "ok"
	},
	// load [ACTION ADDRESS SIZE]...
	"load": func(tk *talk, a []string) string {
		tk.scripts[0].Load(tk.entries(a))
		return "ok"
	},
	// outcomes [ACTION ADDRESS SIZE]...
	"outcomes": func(tk *talk, a []string) string {
		tk.scripts[0].LoadOutcomes(tk.entries(a))
		return "ok"
	},
}

func address(s string) spec.Ptr {
	var p spec.Ptr
	_, _ = fmt.Sscan(s, (*uint64)(&p))
	return p
}

// ranges reads addresses and sizes.
func (tk *talk) ranges(a []string) (ranges []spec.Range) {
	for ; len(a) >= 2; a = a[2:] {
		ranges = append(ranges, spec.Range{Ptr: address(a[0]), Bytes: tk.bytes(a[1])})
	}
	return ranges
}

// entries reads trace entries, three words each; actions without the word segment.
func (tk *talk) entries(a []string) []spec.TraceEntry {
	var entries []spec.TraceEntry
	for ; len(a) >= 3; a = a[3:] {
		action, known := spec.ParseAction("segment_" + a[0])
		if !known {
			panic(a[0])
		}
		entries = append(entries, spec.TraceEntry{Action: action, Addr: address(a[1]), Size: tk.bytes(a[2])})
	}
	return entries
}
