package errortext

import "fmt"

// record is what to do where the text does not tell enough.
const record = "record the run from its start, and give the snapshot to gaugeblock whatif"

// helps reports whether expandable_segments is likely to help, as far as the text tells.
func (m *Message) helps() bool {
	return m.Cause() == Fragmentation && m.Backend == "CUDA" && !m.Old && !m.Expandable && m.NoExpandable == "" && !m.hidesProcess && high(m.Free) > 0
}

const fitsWithoutOthers = "Without the other processes the request would fit."

// advice says what is likely to help.
func (m *Message) advice() string {
	notCUDA := ""
	if m.headless {
		notCUDA = "The message's beginning, which names the backend, is not in the text; it is taken for CUDA's. "
	}
	if m.Backend != "CUDA" && m.Kind != Runtime {
		notCUDA = fmt.Sprintf("This is a message of %s; what is said of the allocator is that of CUDA. ", m.Backend)
	}
	switch m.Cause() {
	case Fragmentation:
		if m.deviceHasRoom() {
			return notCUDA + "A larger memory fraction would serve the request, if the device is not shared: it has enough free. " + m.adviceOnPieces()
		}
		if m.withoutOthers() {
			return notCUDA + fitsWithoutOthers + " " + m.adviceOnPieces()
		}
		return notCUDA + m.adviceOnPieces()
	case Shortage:
		if m.withoutOthers() {
			return notCUDA + fitsWithoutOthers
		}
		return notCUDA + "What helps is smaller batches, memory that is freed earlier, or a larger device."
	case Fraction:
		if m.Kind == MPS {
			return "What helps is less memory at a time, or another limit."
		}
		return notCUDA + "What helps is a larger fraction, if the device is not shared, or less memory at a time."
	case Outside:
		return notCUDA + "Likely to help: leave more of the device to others than the allocator, with torch.cuda.set_per_process_memory_fraction, or torch.cuda.empty_cache() before the call."
	case NoAddresses:
		return "The message advises fewer streams, or a smaller expandable_segments_reserve."
	}
	return notCUDA
}

func (m *Message) adviceOnPieces() string {
	switch {
	case m.Expandable:
		return "expandable_segments is on already, by the message."
	case m.Old:
		return "Likely to help: PyTorch 2.1 or later with expandable_segments:True; before it, if sizes vary, PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:N."
	case m.NoExpandable != "":
		return fmt.Sprintf("expandable_segments is not advised: %s, and they do not work with that.", m.NoExpandable)
	case m.Backend != "CUDA":
		return "Whether there are expandable segments depends on the release and on the platform."
	}
	if high(m.Free) == 0 {
		return "No byte is free, which is how Windows tells it: there expandable_segments does not exist. On Linux it is likely to help: " + m.variable() + "=expandable_segments:True."
	}
	since := " (PYTORCH_ALLOC_CONF since 2.9)"
	if m.newName {
		since = ""
	}
	return "Likely to help: " + m.variable() + "=expandable_segments:True" + since + ", if it is not set already, the system is not Windows, and no memory is shared by CUDA IPC, NVSHMEM, DeepEP or CuMemAllocator."
}

// variable is the one that sets the allocator's settings, by the text; the older name works in all releases.
func (m *Message) variable() string {
	if m.newName {
		return "PYTORCH_ALLOC_CONF"
	}
	return "PYTORCH_CUDA_ALLOC_CONF"
}

// toRecord says what to record.
func (m *Message) toRecord() string {
	switch m.Cause() {
	case NoAddresses, TooLarge, Outside:
		return ""
	}
	if m.Backend == "MPS" {
		return ""
	}
	if m.Kind == Async {
		return "cudaMallocAsync records no history. Run the program once with backend:native, record that run from its start (torch.cuda.memory._record_memory_history(), then _dump_snapshot), and give the snapshot to gaugeblock whatif, or to gaugeblock compare with cudaMallocAsync beside it."
	}
	return "To see what holds the memory, and what other settings would do, record the run from its start (torch.cuda.memory._record_memory_history(), then _dump_snapshot) and give the snapshot to gaugeblock whatif."
}
