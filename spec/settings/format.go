package settings

import (
	"strconv"
	"strings"

	"gaugeblock/spec"
)

// Format writes the settings as the string that Parse makes them of: each
// key whose value is not the default, in a fixed order. Two Configs that agree in
// everything but Last give the same string. The Config must have been made with
// the same sizes g; sizes that no settings string can give are rounded down to
// whole g.MiB.
func Format(c spec.Config, g spec.Geometry) string {
	var w settingsWriter
	d := spec.DefaultConfig(g)
	w.size(keyLargeSegmentSize, c.LargeSegmentSize, d.LargeSegmentSize, g)
	w.size(keyMaxSplitSize, c.MaxSplitSize, d.MaxSplitSize, g)
	w.size(keyMaxNonSplitRounding, c.MaxNonSplitRounding, c.LargeSegmentSize, g)
	w.number(keyGarbageCollectionThreshold, c.GarbageCollectionThreshold, d.GarbageCollectionThreshold)
	if c.Divisions != d.Divisions {
		w.add(keyDivisions, formatDivisions(c.Divisions))
	}
	w.flag(keyExpandableSegments, c.ExpandableSegments)
	w.flag(keyReleaseLock, c.ReleaseLockOnMalloc)
	w.flag(keyGraphCaptureReuse, c.GraphCaptureRecordStreamReuse)
	w.number(keyPerProcessMemoryFraction, c.PerProcessMemoryFraction, d.PerProcessMemoryFraction)

	w.flag(keyPinnedHostRegister, c.Pinned.UseCUDAHostRegister)
	if c.Pinned.NumRegisterThreads != d.Pinned.NumRegisterThreads {
		w.add(keyPinnedRegisterThreads, strconv.FormatUint(c.Pinned.NumRegisterThreads, 10))
	}
	w.flag(keyPinnedBackgroundThreads, c.Pinned.UseBackgroundThreads)
	w.size(keyPinnedReserveSegmentSize, c.Pinned.ReserveSegmentSize, d.Pinned.ReserveSegmentSize, g)
	return strings.Join(w.settings, ",")
}

// settingsWriter collects the settings that differ from their defaults.
type settingsWriter struct {
	settings []string
}

func (w *settingsWriter) add(key, value string) {
	w.settings = append(w.settings, key+":"+value)
}

func (w *settingsWriter) size(key string, bytes, standard uint64, g spec.Geometry) {
	if bytes != standard {
		w.add(key, strconv.FormatUint(bytes/g.MiB, 10))
	}
}

func (w *settingsWriter) number(key string, f, standard float64) {
	if f != standard {
		w.add(key, strconv.FormatFloat(f, 'g', -1, 64))
	}
}

// flag writes a key that is False unless set.
func (w *settingsWriter) flag(key string, set bool) {
	if set {
		w.add(key, "True")
	}
}
