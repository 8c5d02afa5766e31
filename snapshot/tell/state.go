package tell

import (
	"fmt"
	"strings"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// State is what a snapshot without a history tells of a device: how much is free, and
// whether that can be used; "" if nothing is reserved.
func State(f *snapshot.File, dev spec.Device) string {
	var reserved, allocated, whole, largest, pools uint64
	free, total := map[spec.Stream]uint64{}, uint64(0)
	for i := range f.Segments {
		s := &f.Segments[i]
		if s.Device != dev {
			continue
		}
		reserved += s.TotalSize
		left := uint64(0)
		for _, b := range s.Blocks {
			switch b.State {
			case spec.Inactive:
				left += b.Size
				largest = max(largest, b.Size)
			case spec.ActiveAllocated:
				allocated += b.Size
			}
		}
		if left == s.TotalSize {
			whole += left
		}
		if !s.Pool.IsDefault() {
			pools += left
		}
		free[s.Stream] += left
		total += left
	}
	if reserved == 0 {
		return ""
	}
	text := []string{fmt.Sprintf("At the time of the snapshot %s is reserved on device %d, %s of it allocated and %s free; the largest free block has %s.",
		spec.FormatSize(reserved), dev, spec.FormatSize(allocated), spec.FormatSize(total), spec.FormatSize(largest))}
	if total > 0 {
		text = append(text, fmt.Sprintf("%s is in segments that are free as a whole, which empty_cache, or a request that finds no memory, returns to the device; %s is in segments in use.", spec.FormatSize(whole), spec.FormatSize(total-whole)))
	}
	if pools > 0 {
		text = append(text, fmt.Sprintf("%s is free in private pools, which serve no other requests.", spec.FormatSize(pools)))
	}
	if n := len(free); n > 1 {
		text = append(text, fmt.Sprintf("The free memory belongs to %d streams; that of one stream does not serve another.", n))
	}
	return strings.Join(text, " ")
}
