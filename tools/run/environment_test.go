package run

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/fakegpu/cuda"
	"gaugeblock/fakegpu/cuda/gpus"
)

// TestEnvironment: what the program is told beside its own environment, for each option.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"PYTHONPATH", "GODEBUG", "LD_PRELOAD"} {
		t.Setenv(name, "")
	}
	t.Setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:20")
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("\x7fELF and more"), 0o700); err != nil {
		t.Fatal(err)
	}
	l4, _ := gpus.Find("l4")
	always := map[string]string{
		"PYTHONPATH": "/f/site", "GAUGEBLOCK_RUN_FOLDER": "/f", "GAUGEBLOCK_RUN_LIBRARIES": "/lib", "GAUGEBLOCK_RUN_HISTORY": "none",
		"GODEBUG": "asyncpreemptoff=1", "GAUGEBLOCK_NCCL_FOLDER": "/f/channels", "GAUGEBLOCK_CUDA_GPU": "l4", "GAUGEBLOCK_CUDA_DEVICES": "2",
		"GAUGEBLOCK_CUDA_NVML": l4.Management(l4.Memory), "GAUGEBLOCK_CUDA_BYTES": "none", "GAUGEBLOCK_CUDA_HAZARDS": "off",
		"GAUGEBLOCK_CUDA_WAITS": "drain", "GAUGEBLOCK_CUDA_WATCHDOG": "told", "GAUGEBLOCK_CUDA_SCHEDULE": "eager", "GAUGEBLOCK_CUDA_ADDRESSES": "process", "GAUGEBLOCK_CUDA_LOG": "/f/lacking", "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:20",
	}
	for name, c := range map[string]struct {
		o    Options
		want map[string]string // "-": it is not set
		own  map[string]string
	}{
		"nothing":    {},
		"no values":  {o: Options{NoValues: true}, want: map[string]string{"GAUGEBLOCK_RUN_VALUES": "none"}},
		"no cuDNN":   {o: Options{NoCuDNN: true}, want: map[string]string{"GAUGEBLOCK_RUN_CUDNN": "none"}},
		"assume":     {o: Options{Assume: AssumeMost}, want: map[string]string{"GAUGEBLOCK_RUN_ASSUME": "most"}},
		"patience":   {o: Options{Patience: -1}, want: map[string]string{"GAUGEBLOCK_RUN_PATIENCE": "-1"}},
		"progress":   {o: Options{Progress: func(Progress) {}}, want: map[string]string{"GAUGEBLOCK_RUN_PROGRESS": "1"}},
		"streams":    {o: Options{Streams: true}, want: map[string]string{"GAUGEBLOCK_RUN_STREAMS": "1"}},
		"snapshot":   {o: Options{Snapshot: true, Decide: true}, want: map[string]string{"GAUGEBLOCK_RUN_HISTORY": "stacks"}},
		"a page":     {o: Options{Report: true}, want: map[string]string{"GAUGEBLOCK_RUN_HISTORY": "stacks"}},
		"sites":      {o: Options{Sites: true}, want: map[string]string{"GAUGEBLOCK_RUN_HISTORY": "stacks"}},
		"to decide":  {o: Options{Decide: true}, want: map[string]string{"GAUGEBLOCK_RUN_HISTORY": "plain"}},
		"memory":     {o: Options{Memory: 1000}, want: map[string]string{"GAUGEBLOCK_CUDA_MEMORY": "1000B", "GAUGEBLOCK_CUDA_NVML": l4.Management(1000)}},
		"settings":   {o: Options{Settings: "x:1"}, want: map[string]string{"PYTORCH_ALLOC_CONF": "x:1", "PYTORCH_CUDA_ALLOC_CONF": "x:1"}},
		"own places": {own: map[string]string{"PYTHONPATH": "/own", "GODEBUG": "x=1"}, want: map[string]string{"PYTHONPATH": "/f/site:/own", "GODEBUG": "x=1,asyncpreemptoff=1"}},
		"own library": {o: Options{Command: []string{program}}, own: map[string]string{"LD_PRELOAD": "/own.so"},
			want: map[string]string{"LD_PRELOAD": "/lib/libcuda.so.1:/lib/libcudart.so.12:/lib/libcudart.so.13:/own.so"}},
		"one rank": {o: Options{Rank: 3, WorldSize: 8}, want: map[string]string{
			"RANK": "3", "WORLD_SIZE": "8", "GROUP_RANK": "3", "GROUP_WORLD_SIZE": "8", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "MASTER_PORT": "1",
			"GAUGEBLOCK_RUN_ALONE": "1", "MASTER_ADDR": "localhost", "TORCH_NCCL_ENABLE_MONITORING": "0", "GAUGEBLOCK_NCCL_FOLDER": "-",
		}},
		"time": {o: Options{Schedule: Schedule{Slower: 1.5, Host: 0.5, Ranks: 1.25, Seed: 7, Watchdog: 70, Elsewhere: true}}, want: map[string]string{
			"GAUGEBLOCK_CUDA_SCHEDULE": "time", "GAUGEBLOCK_CUDA_SLOWER": "1.5", "GAUGEBLOCK_CUDA_HOST_SLOWER": "0.5", "GAUGEBLOCK_CUDA_RANKS_SLOWER": "1.25", "GAUGEBLOCK_CUDA_SEED": "7", "GAUGEBLOCK_CUDA_WATCHDOG_LATE": "70", "GAUGEBLOCK_CUDA_ADDRESSES": "ascending",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range c.own {
				t.Setenv(variable, value)
			}
			o := c.o
			o.GPU, o.GPUs = l4, 2
			if o.Command == nil {
				o.Command = []string{"python3"}
			}
			want := maps.Clone(always)
			for variable, value := range c.want {
				if want[variable] = value; value == "-" {
					delete(want, variable)
				}
			}
			before := os.Environ()
			got := map[string]string{}
			for _, entry := range o.environment("/f", "/f/site", "/lib") {
				variable, value, _ := strings.Cut(entry, "=")
				if _, twice := got[variable]; twice {
					t.Errorf("%s is there twice", variable)
				}
				if _, named := want[variable]; named || !slices.Contains(before, entry) {
					got[variable] = value
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%v\nis not\n%v", got, want)
			}
		})
	}
}

// TestLibrariesAreNotThere: without the libraries no program is run.
func TestLibrariesAreNotThere(t *testing.T) {
	t.Setenv(LibrariesVariable, t.TempDir())
	ran := filepath.Join(t.TempDir(), "ran")
	_, err := Run(Options{Command: []string{"touch", ran}, GPU: gpus.All[0], GPUs: 1}, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "the libraries of the fake GPU are not all there") {
		t.Errorf("libraries that are not there: %v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program was run")
	}
}

// TestWhereLibrariesAre: they are those of the variable, beside the command, or those that this command has built before.
func TestWhereLibrariesAre(t *testing.T) {
	all := append(cuda.Thin(), "libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libnvidia-ml.so.1", cuda.MachineName)
	make := func(folder string) string {
		t.Helper()
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range all {
			write(t, folder, name, "")
		}
		return folder
	}
	find := func(want string) {
		t.Helper()
		said := ""
		if got, err := Libraries(func(line string) { said += line }); err != nil || got != want || said != "" {
			t.Errorf("%q, %v, %q; not %q", got, err, said, want)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GAUGEBLOCK_CACHE", t.TempDir())
	t.Setenv(LibrariesVariable, "")
	key, err := fingerprint(self)
	if err != nil {
		t.Fatal(err)
	}
	find(make(filepath.Join(os.Getenv("GAUGEBLOCK_CACHE"), key)))
	beside := filepath.Join(filepath.Dir(self), "fake-cuda")
	find(make(beside))
	if err := os.RemoveAll(beside); err != nil {
		t.Fatal(err)
	}
	given := make(t.TempDir())
	t.Setenv(LibrariesVariable, given)
	find(given)
	for _, name := range all {
		if err := os.Remove(filepath.Join(given, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := Libraries(nil); err == nil || !strings.Contains(err.Error(), "are not all there") || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
		write(t, given, name, "")
	}
	file := filepath.Join(given, "libcuda.so.1")
	empty, err := fingerprint(file)
	if err != nil || len(empty) != 24 {
		t.Error(empty, err)
	}
	write(t, given, "libcuda.so.1", "x")
	if full, err := fingerprint(file); err != nil || full == empty {
		t.Error(full, err)
	}
	for _, wrong := range []string{filepath.Join(given, "none"), given} {
		if _, err := fingerprint(wrong); err == nil {
			t.Errorf("%s has a fingerprint", wrong)
		}
	}
}

// What is built can be read by everybody.
func TestBuiltLibrariesCanBeRead(t *testing.T) {
	needsLibraries(t)
	if info, err := os.Stat(os.Getenv(LibrariesVariable)); err != nil || info.Mode().Perm() != 0o755 {
		t.Error(info.Mode(), err)
	}
}

// TestAnswers: the answers of processes are in the order of ranks, then of process numbers, and one that is damaged is named.
func TestAnswers(t *testing.T) {
	folder := t.TempDir()
	for i, a := range []string{`{"rank": "10", "pid": 1}`, `{"rank": "9", "pid": 3}`, `{"rank": "9", "pid": 2}`, `{"rank": "8", "pid": 9}`, `{"pid": 30}`, `{"pid": 4}`} {
		write(t, folder, fmt.Sprintf("%d.json", i), a)
	}
	write(t, folder, lackingFile, "b\na\nb\n")
	for _, name := range []string{"4.begun", "77.begun", "8.begun", "x.begun"} {
		write(t, folder, name, "")
	}
	r, err := collect(folder)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, a := range r.Processes {
		order = append(order, fmt.Sprintf("%s/%d", a.Rank, a.PID))
	}
	if got := strings.Join(order, " "); got != "/4 /30 8/9 9/2 9/3 10/1" || !slices.Equal(r.Lacking, []string{"a", "b"}) || !slices.Equal(r.Unanswered, []int{8, 77}) {
		t.Error(got, r.Lacking, r.Unanswered)
	}
	write(t, folder, "7.json", "{")
	if _, err := collect(folder); err == nil || !strings.Contains(err.Error(), "7.json") {
		t.Error(err)
	}
}

// TestWorst: that on which most was reserved may be any device of any process.
func TestWorst(t *testing.T) {
	r := &Result{Processes: []Answer{{PID: 1, Devices: []Device{{Device: 0, PeakReserved: 5}, {Device: 1, PeakReserved: 7}}}, {PID: 2, Devices: []Device{{Device: 0, PeakReserved: 6}}}}}
	if p, d := r.Worst(); p.PID != 1 || d.Device != 1 {
		t.Error(p, d)
	}
	r.Processes[1].Devices = append(r.Processes[1].Devices, Device{Device: 3, PeakReserved: 8})
	if p, d := r.Worst(); p.PID != 2 || d.Device != 3 {
		t.Error(p, d)
	}
	if p, d := (&Result{Processes: []Answer{{}}}).Worst(); p != nil || d != nil {
		t.Error(p, d)
	}
}

// A damaged answer of the program is told by its name.
func TestDamagedAnswer(t *testing.T) {
	needsLibraries(t)
	o := Options{Command: []string{"sh", "-c", "echo x > $GAUGEBLOCK_RUN_FOLDER/9.json"}, GPU: gpus.All[0], GPUs: 1}
	if _, err := Run(o, t.TempDir()); err == nil || !strings.Contains(err.Error(), "9.json") {
		t.Error(err)
	}
}
