package whatif

import (
	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// ChooseDevice is the device that ran out of memory most often, or else the one with the
// longest history.
func ChooseDevice(f *snapshot.File) spec.Device {
	chosen, most := spec.Device(0), -1
	for dev, trace := range f.DeviceTraces {
		weight := len(trace)
		for i := range trace {
			if trace[i].Action == spec.ActionOOM {
				weight += 1 << 40
			}
		}
		if weight > most {
			chosen, most = spec.Device(dev), weight
		}
	}
	return chosen
}
