package fakegpu_test

import (
	"fmt"
	"regexp"
	"strconv"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

var hazardCommands = map[string]command{
	// give RANGE STREAM [pool N] [captured] [named OWNER]
	"give": func(tk *talk, a []string) string {
		s := tk.stream(a[1])
		l := fakegpu.Lifetime{Range: tk.rng(a[0]), Device: s.dev, Stream: s.handle}
		for i, word := range a {
			switch word {
			case "pool":
				l.Pool.Capture, _ = strconv.ParseUint(a[i+1], 10, 64)
			case "captured":
				l.Captured = true
			case "named":
				l.Owner = a[i+1]
			}
		}
		return fmt.Sprintf("lifetime %d", tk.gpu.BeginLifetime(l))
	},
	// told PTR STREAM: the allocator was told that the stream uses the memory
	"told": func(tk *talk, a []string) string {
		s := tk.stream(a[1])
		tk.gpu.RecordUse(tk.ptr(a[0]), s.dev, s.handle)
		return "ok"
	},
	// inside, outside: the allocator's own work begins, ends
	"inside": func(tk *talk, _ []string) string {
		tk.outside = tk.gpu.InAllocator()
		return "ok"
	},
	"outside": func(tk *talk, _ []string) string {
		tk.outside()
		return "ok"
	},
	// take PTR
	"take": func(tk *talk, a []string) string {
		tk.gpu.EndLifetime(tk.ptr(a[0]))
		return "ok"
	},
	// take-refused PTR: the allocator refuses to take the memory
	"take-refused": func(tk *talk, a []string) string {
		undo := tk.gpu.EndLifetime(tk.ptr(a[0]))
		undo()
		return "ok"
	},
	// thread N
	"thread": func(tk *talk, a []string) string {
		tk.gpu.SetThread(thread(a[0]))
		return "ok"
	},
	// tell FROM TO
	"tell": func(tk *talk, a []string) string {
		tk.gpu.OrderThreads(thread(a[0]), thread(a[1]))
		return "ok"
	},
	// hazards: those that are new
	"hazards": func(tk *talk, _ []string) string {
		var lines []string
		all := tk.gpu.Hazards()
		for _, h := range all[tk.told[tk.gpu]:] {
			lines = append(lines, tk.rename(h.String()))
		}
		tk.told[tk.gpu] = len(all)
		return fmt.Sprintf("%d hazards%s", len(lines), indent(lines))
	},
}

func thread(s string) spec.Thread {
	n, _ := strconv.ParseUint(s, 10, 64)
	return spec.Thread(n)
}

var numbers = regexp.MustCompile(`0x[0-9a-f]+`)

// rename puts names in the place of addresses and handles.
func (tk *talk) rename(text string) string {
	return numbers.ReplaceAllStringFunc(text, func(number string) string {
		n, _ := strconv.ParseUint(number, 0, 64)
		best, name := n, number
		for candidate, v := range tk.names {
			switch v := v.(type) {
			case streamName:
				if uint64(v.handle) == n {
					return candidate
				}
			case spec.Ptr:
				offset := n - uint64(v)
				if uint64(v) > n || offset > best || offset == best && candidate > name {
					continue
				}
				best, name = offset, candidate
				if offset > 0 {
					name += fmt.Sprintf("+%d", offset)
				}
			}
		}
		return name
	})
}
