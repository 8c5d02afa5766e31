package run

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// environment is that of the program: its own, and what leads it to the fake GPU.
func (o *Options) environment(folder, site, libraries string) []string {
	env := os.Environ()
	set := func(name, value string) {
		env = slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, name+"=") })
		env = append(env, name+"="+value)
	}
	set("PYTHONPATH", joined(site, os.Getenv("PYTHONPATH")))
	set("GAUGEBLOCK_RUN_FOLDER", folder)
	set("GAUGEBLOCK_RUN_LIBRARIES", libraries)
	set("GAUGEBLOCK_RUN_HISTORY", o.history())
	if o.NoValues {
		set("GAUGEBLOCK_RUN_VALUES", "none")
	}
	if o.Assume != "" {
		set("GAUGEBLOCK_RUN_ASSUME", o.Assume)
	}
	if o.Patience != 0 {
		set("GAUGEBLOCK_RUN_PATIENCE", fmt.Sprint(o.Patience))
	}
	if o.NoCuDNN {
		set("GAUGEBLOCK_RUN_CUDNN", "none")
	}
	if o.Progress != nil {
		set("GAUGEBLOCK_RUN_PROGRESS", "1")
	}
	if o.Streams {
		set("GAUGEBLOCK_RUN_STREAMS", "1")
	}
	// The machine is written in Go, which sends its threads signals, also those that are ending and cannot take any.
	set("GODEBUG", strings.TrimPrefix(os.Getenv("GODEBUG")+",asyncpreemptoff=1", ","))
	o.setRanks(folder, set)
	o.Schedule.set(set)
	set("GAUGEBLOCK_CUDA_GPU", o.GPU.Word)
	set("GAUGEBLOCK_CUDA_DEVICES", fmt.Sprint(o.GPUs))
	if o.Memory > 0 {
		set("GAUGEBLOCK_CUDA_MEMORY", fmt.Sprintf("%dB", o.Memory))
	}
	set("GAUGEBLOCK_CUDA_NVML", o.GPU.Management(cmp.Or(o.Memory, o.GPU.Memory)))
	set("GAUGEBLOCK_CUDA_BYTES", "none")
	set("GAUGEBLOCK_CUDA_HAZARDS", "off")
	set("GAUGEBLOCK_CUDA_WAITS", "drain")
	set("GAUGEBLOCK_CUDA_WATCHDOG", "told")
	set("GAUGEBLOCK_CUDA_LOG", filepath.Join(folder, lackingFile))
	if o.Settings != "" {
		set("PYTORCH_ALLOC_CONF", o.Settings)
		set("PYTORCH_CUDA_ALLOC_CONF", o.Settings) // what 2.9 reads
	}
	if !startsPython(o.Command[0]) {
		var first []string
		for _, name := range []string{"libcuda.so.1", "libcudart.so.12", "libcudart.so.13"} {
			first = append(first, filepath.Join(libraries, name))
		}
		set("LD_PRELOAD", joined(strings.Join(first, ":"), os.Getenv("LD_PRELOAD")))
	}
	return env
}

// setRanks: processes of one machine speak with each other by files of a folder. One rank that is alone has the
// variables that torchrun would set.
func (o *Options) setRanks(folder string, set func(name, value string)) {
	if o.WorldSize == 0 {
		set("GAUGEBLOCK_NCCL_FOLDER", filepath.Join(folder, channelsFolder))
		return
	}
	for name, n := range map[string]int{
		"RANK": o.Rank, "WORLD_SIZE": o.WorldSize, "GROUP_RANK": o.Rank, "GROUP_WORLD_SIZE": o.WorldSize,
		"LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "MASTER_PORT": 1, "GAUGEBLOCK_RUN_ALONE": 1,
	} {
		set(name, fmt.Sprint(n))
	}
	set("MASTER_ADDR", "localhost")
	set("TORCH_NCCL_ENABLE_MONITORING", "0") // there is nobody to tell
}

func joined(first, others string) string {
	if others == "" {
		return first
	}
	return first + ":" + others
}

// history is what the allocator is to record for a memory snapshot.
func (o *Options) history() string {
	if o.Snapshot || o.Report || o.Sites {
		return "stacks"
	}
	if o.Decide {
		return "plain"
	}
	return "none"
}

// startsPython reports whether a command is no program of its own that may be linked with CUDA:
// Python, a script, or what cannot be read.
func startsPython(path string) bool {
	if strings.HasPrefix(filepath.Base(path), "python") {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	mark := make([]byte, 4)
	_, err = f.Read(mark)
	return err != nil || string(mark) != "\x7fELF"
}
