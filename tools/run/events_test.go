package run

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// differ are the recorded histories that are known not to be the same here, with the reason.
var differ = map[string]string{
	"compiled.default.nolimit":       "torch.compile tries a kernel as often as its time allows; two later runs of an H200 are equal",
	"gpt_varlen.split64gc8.limit":    "equal blocks are chosen by address, and then other ones are released",
	"resnet_oom7.default.limit":      resnet,
	"resnet_oom7.default.nolimit":    resnet,
	"resnet_oom7.expandable.limit":   resnet,
	"resnet_oom7.gc6.limit":          resnet,
	"resnet_oom7.round4.limit":       resnet,
	"resnet_oom7.split128.limit":     resnet,
	"two_streams.default.nolimit":    "on a GPU events complete later",
	"two_streams.expandable.nolimit": "on a GPU events complete later",
}

const resnet = "135 workspaces of 400 bytes, of products of 1 x 1 filters, are not asked for here, and 47 are up to 512 bytes smaller"

// entries are the events of a history as action, size and stream, streams numbered as they come.
func entries(t *testing.T, file string) (all []spec.TraceEntry, addresses []spec.Ptr) {
	t.Helper()
	f, err := snapshot.OpenLimited(file, 4<<30)
	if err != nil {
		t.Fatal(err)
	}
	streams := map[spec.Stream]spec.Stream{}
	for _, e := range f.DeviceTraces[0] {
		if _, met := streams[e.Stream]; !met {
			streams[e.Stream] = spec.Stream(len(streams))
		}
		all = append(all, spec.TraceEntry{Action: e.Action, Size: e.Size, Stream: streams[e.Stream]})
		addresses = append(addresses, e.Addr)
	}
	return all, addresses
}

// The histories of ../shared/snapshots and snapshots-more, of an H200, have the same events in the same order here,
// and the figures are the same.
func TestTorchEvents(t *testing.T) {
	python, folder := pythons(t)[0], filepath.Dir(shared(t))
	files, err := filepath.Glob(filepath.Join(folder, "snapshots*", "*.*.*.pickle.gz"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, file := range files {
		prefix := strings.TrimSuffix(file, ".pickle.gz")
		name := filepath.Base(prefix)
		program, _, _ := strings.Cut(name, ".")
		seed := "7"
		switch program {
		case "gpt_varlen", "two_streams", "compiled":
			seed = "0"
		case "gpt_oom7":
			program = "gpt_varlen"
		case "resnet_oom7":
			program = "resnet_varsize"
		case "long_generate":
		default:
			continue // the file has no program, or its history is not whole
		}
		t.Run(name, func(t *testing.T) {
			if program == "resnet_varsize" && !hasCuDNN(python) {
				t.Skip("cuDNN's wheel is not installed")
			}
			var want, got map[string]any
			if err := readJSON(prefix+".json", &want); err != nil {
				t.Fatal(err)
			}
			t.Setenv("SEED", seed)
			freshCaches(t)
			out := filepath.Join(t.TempDir(), "out")
			h200, _ := gpus.Find("h200")
			command := []string{python, filepath.Join(folder, "torch", "workloads.py"), program, fmt.Sprintf("%.0f", want["limit"]), out}
			runs(t, Options{Command: command, GPU: h200, Settings: want["settings"].(string)}, 0)
			if err := readJSON(out+".json", &got); err != nil {
				t.Fatal(err)
			}
			there, thereAt := entries(t, file)
			here, hereAt := entries(t, out+".pickle")
			same, placed := 0, 0
			for i := range min(len(here), len(there)) {
				if here[i] == there[i] {
					same++
					if hereAt[i] == thereAt[i] {
						placed++
					}
				}
			}
			var wrong []string
			if same != len(there) || len(here) != len(there) {
				wrong = append(wrong, "events")
			}
			for _, key := range slices.Sorted(maps.Keys(want)) {
				if key == "oom" { // its text has numbers of processes
					want[key], got[key] = want[key] != nil, got[key] != nil
				}
				if key != "workload" && want[key] != got[key] {
					wrong = append(wrong, fmt.Sprintf("%s: %v, on the H200 %v", key, got[key], want[key]))
				}
			}
			rows = append(rows, fmt.Sprintf("| %s | %d | %d | %d | %d | %s |", name, len(there), len(here), same, placed, strings.Join(wrong, "; ")))
			if (len(wrong) > 0) != (differ[name] != "") {
				t.Errorf("%v, known: %q", wrong, differ[name])
			}
		})
	}
	if len(rows) == 0 {
		t.Errorf("there are no histories in %s", folder)
	}
	t.Log("\n| program | events on the H200 | here | equal in order | and at the same address | differences |\n|---|---|---|---|---|---|\n" + strings.Join(rows, "\n"))
}
