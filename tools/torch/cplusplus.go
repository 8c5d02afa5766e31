package torch

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/torch/binary"
)

// A program is also written in C++, for those who want to see what PyTorch's allocator does
// without any of this project's code between: it calls c10 and CUDA, and what only the fake
// GPU has (gaugeblock_cuda.h). Of cplusplus/program.cc it has the parts that it needs.

//go:embed cplusplus/program.cc
var programParts string

// cplusplus writes the program; false if it has operations that cannot be written so.
// about are lines for its beginning.
func cplusplus(h *trace.Header, ops []trace.Op, about string) (string, bool) {
	parts := map[string]string{}
	var order []string
	for _, part := range strings.Split(programParts, "//- ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		parts[name] = text
		order = append(order, name)
	}
	needed := map[string]bool{"always": true, "end": true, "main": true}
	var calls strings.Builder
	var captured captured
	for i := range ops {
		call := callInCplusplus(&ops[i])
		if call == "" {
			return "", false
		}
		if current := captured.current(&ops[i]); current != 0 {
			call = fmt.Sprintf("current(%d, %d), %s, current(%[1]d, 0)", ops[i].Device, current, call)
			needed["current"] = true
		}
		captured.follow(&ops[i])
		fmt.Fprintf(&calls, "\t%s;\n", call)
		needed[string(ops[i].Kind)] = true
	}
	needed["callback"] = needed["need_memory_callback"]
	needed["checkpoint"] = needed["checkpoint"] || needed["restore"]
	needed["capture_end"] = needed["capture_end"] || needed["graph_launch"] || needed["graph_destroy"]
	needed["record_event"] = needed["record_event"] || needed["wait_event"]
	var b strings.Builder
	for _, name := range order {
		if needed[name] {
			b.WriteString(parts[name])
		}
	}
	// A graph uses memory again that was freed, which a program in C++ cannot say.
	watch := strconv.FormatBool(!needed["graph_launch"])
	text := strings.NewReplacer("WATCH", watch, "RELEASE\n", binary.ReleaseHeader, "SETTINGS", strconv.Quote(h.Settings), "DEVICES", strconv.Itoa(h.Devices),
		"PROGRAM\n", calls.String()).Replace(b.String())
	comment := "// " + strings.ReplaceAll(about, "\n", "\n// ") + "\n"
	return strings.ReplaceAll(comment, "// \n", "//\n") + text, true
}

// aboutProgram says what a program shows and how it is compiled and run.
func aboutProgram(h *trace.Header, what string) string {
	return fmt.Sprintf(`%s

Compiled with TORCH, the directory of PyTorch's package, and FAKE, that of "make fake-cuda":
c++ -std=c++20 THIS.cc -I$TORCH/include -I$FAKE/include -L$TORCH/lib -lc10_cuda -lc10 -L$FAKE -lcudart -lcuda -o program
LD_LIBRARY_PATH=$FAKE:$TORCH/lib %s ./program`, what, strings.Join(variables(h), " "))
}

// variables make a device equal to the one that the header describes.
func variables(h *trace.Header) []string {
	addresses := "ascending"
	if h.RealAddresses {
		addresses = "real"
	}
	list := []string{
		"GAUGEBLOCK_CUDA_DEVICES=" + strconv.Itoa(h.Devices), "GAUGEBLOCK_CUDA_MEMORY=" + strconv.FormatUint(h.TotalMemory, 10),
		"GAUGEBLOCK_CUDA_ADDRESSES=" + addresses, "GAUGEBLOCK_CUDA_HAZARDS=owners",
	}
	if h.Waits {
		return append(list, "GAUGEBLOCK_CUDA_WAITS=drain")
	}
	return append(list, "GAUGEBLOCK_CUDA_WAITS=fail")
}

// callInCplusplus is the operation as a call of a function of cplusplus/program.cc.
func callInCplusplus(op *trace.Op) string {
	pool := fmt.Sprintf("{%d, %d}", op.Pool.Capture, op.Pool.User)
	call := func(args ...any) string {
		list := make([]string, len(args))
		for i, a := range args {
			list[i] = fmt.Sprint(a)
		}
		return fmt.Sprintf("%s(%s)", op.Kind, strings.Join(list, ", "))
	}
	switch op.Kind {
	case trace.OpMalloc:
		by := ""
		if op.Thread != 0 {
			by = fmt.Sprintf(", %d", op.Thread)
		}
		return fmt.Sprintf("allocate(%d, %d, %d, %d%s)", op.ID, op.Device, op.Stream, op.Size, by)
	case trace.OpFree:
		return fmt.Sprintf("release(%d)", op.ID)
	case trace.OpRecordStream:
		return call(op.ID, op.Device, op.Stream)
	case trace.OpEmptyCache:
		return call(pool)
	case trace.OpSetMemoryFraction:
		return call(op.Device, op.Fraction)
	case trace.OpConfigure:
		return call(strconv.Quote(op.Settings))
	case trace.OpResetPeak, trace.OpResetAccumulated:
		return call(op.Device)
	case trace.OpEnable:
		return call(op.Enabled)
	case trace.OpNeedMemoryCallback:
		return call(numbers(op.Frees))
	case trace.OpPoolCreate:
		return call(op.Device, pool, op.UseOnOOM, op.NoSplit)
	case trace.OpPoolBegin:
		return call(op.Device, pool, filterInCplusplus(op))
	case trace.OpPoolEnd, trace.OpPoolRelease, trace.OpPoolDelete:
		return call(op.Device, pool)
	case trace.OpCheckpoint:
		return call(op.Device, pool, op.State)
	case trace.OpRestore:
		return call(op.Device, op.State, numbers(op.Live), numbers(op.Freed))
	case trace.OpPeerAccess:
		return call(op.Device, op.Peer)
	}
	return workInCplusplus(op, call)
}

// workInCplusplus is an operation that calls no allocator.
func workInCplusplus(op *trace.Op, call func(args ...any) string) string {
	switch op.Kind {
	case trace.OpKernel:
		return call(op.Device, op.Stream, numbers(allocationsOf(op.Reads)), numbers(allocationsOf(op.Writes)))
	case trace.OpCopy:
		return call(op.Device, op.Stream, op.Writes[0].ID, op.Reads[0].ID, op.Reads[0].Bytes)
	case trace.OpWaitStream:
		return call(op.Device, op.Stream, op.On)
	case trace.OpRecordEvent, trace.OpWaitEvent:
		return call(op.Device, op.Stream, op.Event)
	case trace.OpSynchronize, trace.OpBusy, trace.OpDrain:
		return call(op.Device, op.Stream)
	case trace.OpDeviceFree:
		return call(op.Device, op.Size)
	case trace.OpCaptureBegin:
		mode := map[spec.CaptureMode]string{spec.CaptureGlobal: "Global", spec.CaptureThreadLocal: "ThreadLocal", spec.CaptureRelaxed: "Relaxed"}[op.Mode]
		return call(op.Device, op.Stream, "cudaStreamCaptureMode"+mode)
	case trace.OpCaptureEnd, trace.OpGraphLaunch:
		return call(op.Device, op.Stream, op.Graph)
	case trace.OpGraphDestroy:
		return call(op.Graph)
	}
	return ""
}

func filterInCplusplus(op *trace.Op) string {
	switch op.By {
	case trace.ByThread:
		return fmt.Sprintf("for_thread(%d)", op.Thread)
	case trace.ByStream:
		return fmt.Sprintf("for_stream(%d, %d)", op.Device, op.Stream)
	}
	return fmt.Sprintf("for_capture(%d, %d)", op.Device, op.Stream)
}

func allocationsOf(ranges []trace.OpRange) (ids []int64) {
	for _, r := range ranges {
		ids = append(ids, r.ID)
	}
	return ids
}

func numbers(ids []int64) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = strconv.FormatInt(id, 10)
	}
	return "{" + strings.Join(list, ", ") + "}"
}
