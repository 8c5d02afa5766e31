package replay

import (
	"fmt"
	"strings"

	"gaugeblock/spec/trace"
)

// Parts are what was compared with a recording.
type Parts struct{ Addresses, Statistics, Layouts bool }

// add adds what is compared after an operation.
func (p *Parts) add(e *trace.Expectation) {
	p.Addresses = p.Addresses || e.Addr != nil || len(e.Entries) > 0
	p.Statistics = p.Statistics || e.Stats != nil
	p.Layouts = p.Layouts || e.Layout != nil
}

func (p Parts) and(q Parts) Parts {
	return Parts{p.Addresses && q.Addresses, p.Statistics && q.Statistics, p.Layouts && q.Layouts}
}

// String is "address, statistic and layout", or those of them that were compared.
func (p Parts) String() string {
	var names []string
	for _, part := range []struct {
		compared bool
		name     string
	}{{p.Addresses, "address"}, {p.Statistics, "statistic"}, {p.Layouts, "layout"}} {
		if part.compared {
			names = append(names, part.name)
		}
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// recordedFrom says in words what recorded a trace: "PyTorch 2.11 on an H200". It is empty
// if the header does not tell.
func recordedFrom(h *trace.Header) string {
	version, isTorch := strings.CutPrefix(h.Source, "torch ")
	if !isTorch || h.DeviceName == "" {
		return ""
	}
	version, _, _ = strings.Cut(version, "+")
	version = strings.TrimSuffix(version, ".0")
	device := strings.TrimPrefix(h.DeviceName, "NVIDIA ")
	article := "a"
	if strings.Contains("AEFHILMNORSX", device[:min(1, len(device))]) {
		article = "an"
	}
	return fmt.Sprintf("PyTorch %s on %s %s", version, article, device)
}
