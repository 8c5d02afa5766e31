package history

import (
	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// ChooseDevice is the device that ran out of memory most often, or else the one with the
// longest history, or if there is none the one with most of the memory.
func ChooseDevice(f *snapshot.File) spec.Device {
	reserved := map[int]uint64{}
	for i := range f.Segments {
		reserved[int(f.Segments[i].Device)] += f.Segments[i].TotalSize
	}
	devices := len(f.DeviceTraces)
	for dev := range reserved {
		devices = max(devices, dev+1)
	}
	chosen, best := 0, [3]uint64{}
	for dev := range devices {
		weight := [3]uint64{2: reserved[dev]} // compared in this order
		if dev < len(f.DeviceTraces) {
			for i := range f.DeviceTraces[dev] {
				if f.DeviceTraces[dev][i].Action == spec.ActionOOM {
					weight[0]++
				}
			}
			weight[1] = uint64(len(f.DeviceTraces[dev]))
		}
		if more(weight, best) {
			chosen, best = dev, weight
		}
	}
	return spec.Device(chosen)
}

func more(a, b [3]uint64) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] > b[i]
		}
	}
	return false
}
