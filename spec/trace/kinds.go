package trace

import "fmt"

// lineShape says which fields the lines of a kind must have, and which they may have
// beside them. What a line may have and has not is zero, or not known if it is
// an expectation.
type lineShape struct{ must, may jsonMembers }

// endKind stands for the last line among the kinds.
const endKind OpKind = "end"

// kindFields are the names of a kind's own fields, separated by spaces.
type kindFields struct{ must, may string }

// traceEvery2 are the fields of every operation of version 2: the device and the
// thread may be named, and anything may be expected.
var traceEvery2 = kindFields{"op", "device thread error message events stats layout"}

// traceKinds2 is version 2. An expected address goes with what gives out memory.
var traceKinds2 = map[OpKind]kindFields{
	OpMalloc:             {"id size", "stream addr"},
	OpFree:               {"id", ""},
	OpRecordStream:       {"id", "stream"},
	OpEmptyCache:         {"", "pool"},
	OpSetMemoryFraction:  {"fraction allowed", ""},
	OpConfigure:          {"settings", ""},
	OpResetPeak:          {"", ""},
	OpResetAccumulated:   {"", ""},
	OpEnable:             {"enabled", ""},
	OpPoolCreate:         {"pool", "use_on_oom no_split"},
	OpPoolBegin:          {"pool by", "stream"},
	OpPoolEnd:            {"pool", ""},
	OpPoolRelease:        {"pool", ""},
	OpPoolDelete:         {"pool", ""},
	OpCheckpoint:         {"pool state", ""},
	OpRestore:            {"pool state live freed", ""},
	OpPeerAccess:         {"peer", ""},
	OpShare:              {"id handle", ""},
	OpOpenShared:         {"id handle", "addr"},
	OpCloseShared:        {"id", ""},
	OpNeedMemoryCallback: {"frees", ""},

	OpTreeCall:            {"fn inputs call", "tree"},
	OpTreeDrop:            {"output", ""},
	OpTreeMarkStep:        {"", ""},
	OpTreeNewGeneration:   {"", ""},
	OpTreeMoveStaticInput: {"fn", ""},

	OpBusy:         {"", "stream"},
	OpDrain:        {"", "stream"},
	OpKernel:       {"", "stream name reads writes"},
	OpCopy:         {"reads writes", "stream"},
	OpWaitStream:   {"on", "stream"},
	OpRecordEvent:  {"event", "stream"},
	OpWaitEvent:    {"event", "stream"},
	OpSynchronize:  {"", "stream"},
	OpCaptureBegin: {"mode", "stream"},
	OpCaptureEnd:   {"graph", "stream"},
	OpGraphLaunch:  {"graph", "stream"},
	OpGraphDestroy: {"graph", ""},
	OpDeviceFree:   {"bytes", ""},
	OpFault:        {"fault", ""},
}

// traceEvery1 are the fields of every operation of version 1: one device, one thread,
// events and figures after every operation.
var traceEvery1 = kindFields{"op events stats", "error message layout"}

// traceKinds1 is version 1: what the recorder of PyTorch's runs writes.
var traceKinds1 = map[OpKind]kindFields{
	OpMalloc:            {"id size stream", "addr error message"},
	OpFree:              {"id", ""},
	OpRecordStream:      {"id stream", ""},
	OpEmptyCache:        {"", ""},
	OpSetMemoryFraction: {"fraction allowed", ""},
	OpConfigure:         {"settings", ""},
	OpPoolCreate:        {"pool", "use_on_oom no_split"},
	OpPoolBegin:         {"pool by", "stream"},
	OpPoolEnd:           {"pool", ""},
	OpPoolRelease:       {"pool", ""},
	OpPoolDelete:        {"pool", ""},
	OpCheckpoint:        {"pool state", ""},
	OpRestore:           {"pool state live freed", ""},
	OpBusy:              {"stream", ""},
	OpDrain:             {"stream", ""},
	OpKernel:            {"stream", ""},
	OpWaitStream:        {"stream on", ""},
	OpCaptureBegin:      {"stream", ""},
	OpCaptureEnd:        {"stream", ""},
	OpDeviceFree:        {"bytes", ""},
}

var (
	shapes1 = newShapes(traceEvery1, traceKinds1)
	shapes2 = newShapes(traceEvery2, traceKinds2)
)

// newShapes puts together what every kind has, what each has of its own, and the
// end of a trace.
func newShapes(every kindFields, kinds map[OpKind]kindFields) map[OpKind]lineShape {
	shapes := map[OpKind]lineShape{
		endKind: {must: lineTable.set("end"), may: lineTable.set("layout stats")},
	}
	for kind, own := range kinds {
		shapes[kind] = lineShape{
			must: lineTable.set(every.must) | lineTable.set(own.must),
			may:  lineTable.set(every.may) | lineTable.set(own.may),
		}
	}
	return shapes
}

// shapesOf is the shapes of a version.
func shapesOf(version int) map[OpKind]lineShape {
	if version == 1 {
		return shapes1
	}
	return shapes2
}

// checkShape says what is wrong with a line of the kind that has the seen fields,
// "" if nothing is.
func checkShape(version int, kind OpKind, seen jsonMembers) string {
	s, known := shapesOf(version)[kind]
	if !known {
		return fmt.Sprintf("operation %q is not in version %d of the format", kind, version)
	}
	if stray := lineTable.first(seen &^ (s.must | s.may)); stray != "" {
		return fmt.Sprintf("field %q does not belong to %s", stray, kind)
	}
	if missing := lineTable.first(s.must &^ seen); missing != "" {
		return fmt.Sprintf("%s without %q", kind, missing)
	}
	return ""
}
