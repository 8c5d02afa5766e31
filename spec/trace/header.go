package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gaugeblock/spec"
)

// The header is the first line. It says which format and version the file has,
// which is looked at before anything else in it, and then what the operations
// refer to: devices, streams, and the names of the statistics.

// Header is the first line of a trace.
type Header struct {
	Format      string // the constant Format or TreeFormat
	Version     int
	Source      string // what recorded it
	Release     string // of PyTorch, whose rules the allocator follows: "2.13"; "": Source may tell
	DeviceName  string
	Devices     int    // how many devices the trace uses; at least 1
	TotalMemory uint64 // bytes of each device
	Settings    string // PYTORCH_ALLOC_CONF
	Family      string // for people, like Seed: how the program was made up
	Seed        int64
	Streams     []spec.Stream // the handles by index; 0 is the default stream

	StreamIDs   []int64  // upstream's numbers of them, where recorded
	StatColumns []string // the keys of Expectation.Stats
	Functions   []TreeFunction
	StaticBytes uint64        // the size of the functions' static inputs
	Geometry    spec.Geometry // upstream's unless the trace says otherwise

	// Waits: a call of the driver that waits for a busy stream lets it catch up, and
	// freeing memory waits for the device, as on hardware. Otherwise such a wait is
	// an error and a free does not wait, so that only the program drains streams.
	Waits bool

	// RealAddresses: where the trace does not tell an address, the devices place memory as the real
	// driver does. Otherwise each piece lies above all earlier ones.
	RealAddresses bool

	// Threads is how many host threads there are beside thread 0 that have a default stream of
	// their own: on each device, the first of its streams after the default stream. What a
	// thread has waited for, another does not know. 0: nothing depends on threads.
	Threads int

	// Marks: captures are marked by operations of their own, mark_begin and mark_end.
	// Otherwise each capture_begin that succeeds and the capture_end of its stream do it, as
	// torch.cuda.CUDAGraph.
	Marks bool

	// Exclusive: no other process used the devices. What the driver refused is then
	// known from the trace entries, and the free memory that they have is exact.
	Exclusive bool
}

// OwnStream is the index of the default stream that a thread has on a device; 0 if it has
// none of its own.
func (h *Header) OwnStream(dev spec.Device, t spec.Thread) int {
	if t < 1 || int(t) > h.Threads {
		return 0
	}
	each := (len(h.Streams) - 1) / h.Devices
	return 1 + int(dev)*each + int(t) - 1
}

var headerTable = newJSONTable("the header", []jsonMember[Header]{
	textMember("format", func(h *Header) *string { return &h.Format }),
	wholeMember("version", func(h *Header) *int { return &h.Version }),
	textMember("source", func(h *Header) *string { return &h.Source }),
	textMember("release", func(h *Header) *string { return &h.Release }),
	textMember("device", func(h *Header) *string { return &h.DeviceName }),
	{
		name:   "devices",
		read:   func(c *jsonCursor, h *Header) { h.Devices = int(c.size()) },
		append: func(b []byte, h *Header) []byte { return appendWhole(b, h.Devices) },
		absent: func(h *Header) bool { return h.Devices == 1 },
	},
	wholeMember("total_memory", func(h *Header) *uint64 { return &h.TotalMemory }),
	textMember("settings", func(h *Header) *string { return &h.Settings }),
	textMember("family", func(h *Header) *string { return &h.Family }),
	{
		name:   "seed",
		read:   func(c *jsonCursor, h *Header) { h.Seed = c.signed() },
		append: func(b []byte, h *Header) []byte { return strconv.AppendInt(b, h.Seed, 10) },
		absent: func(h *Header) bool { return h.Seed == 0 },
	},
	{
		name: "geometry",
		read: func(c *jsonCursor, h *Header) { geometryTable.readWhole(c, &h.Geometry, geometryTable.all()) },
		append: func(b []byte, h *Header) []byte {
			return geometryTable.write(b, &h.Geometry, geometryTable.all(), 0)
		},
		absent: func(h *Header) bool { return h.Geometry == spec.DefaultGeometry() },
	},
	flagMember("waits", func(h *Header) *bool { return &h.Waits }),
	{
		name:   "threads",
		read:   func(c *jsonCursor, h *Header) { h.Threads = int(c.size()) },
		append: func(b []byte, h *Header) []byte { return appendWhole(b, h.Threads) },
		absent: func(h *Header) bool { return h.Threads == 0 },
	},
	flagMember("real_addresses", func(h *Header) *bool { return &h.RealAddresses }),
	flagMember("marks", func(h *Header) *bool { return &h.Marks }),
	flagMember("exclusive", func(h *Header) *bool { return &h.Exclusive }),
	listMember("streams", func(h *Header) *[]spec.Stream { return &h.Streams }, readStream, appendWhole[spec.Stream]),
	listMember("stream_ids", func(h *Header) *[]int64 { return &h.StreamIDs }, (*jsonCursor).signed, appendWhole[int64]),
	listMember("stat_columns", func(h *Header) *[]string { return &h.StatColumns }, (*jsonCursor).text, appendText),
	listMember("functions", func(h *Header) *[]TreeFunction { return &h.Functions }, readFunction, appendFunction),
	wholeMember("static_bytes", func(h *Header) *uint64 { return &h.StaticBytes }),
})

func readStream(c *jsonCursor) spec.Stream { return spec.Stream(c.unsigned()) }

var geometryTable = newJSONTable("the geometry", []jsonMember[spec.Geometry]{
	wholeMember("min_block", func(g *spec.Geometry) *uint64 { return &g.MinBlock }),
	wholeMember("small_size", func(g *spec.Geometry) *uint64 { return &g.SmallSize }),
	wholeMember("small_buffer", func(g *spec.Geometry) *uint64 { return &g.SmallBuffer }),
	wholeMember("min_large_alloc", func(g *spec.Geometry) *uint64 { return &g.MinLargeAlloc }),
	wholeMember("large_buffer", func(g *spec.Geometry) *uint64 { return &g.LargeBuffer }),
	wholeMember("round_large", func(g *spec.Geometry) *uint64 { return &g.RoundLarge }),
	wholeMember("divisions_start", func(g *spec.Geometry) *uint64 { return &g.DivisionsStart }),
	wholeMember("max_request", func(g *spec.Geometry) *uint64 { return &g.MaxRequest }),
	wholeMember("mib", func(g *spec.Geometry) *uint64 { return &g.MiB }),
})

// headerMust and headerStray are the fields that a header of a version must have,
// and those that it cannot have.
var (
	headerMust = map[int]jsonMembers{
		1: headerTable.all() &^ headerTable.set("stream_ids release devices geometry waits threads real_addresses marks exclusive functions static_bytes"),
		2: headerTable.set("format version total_memory streams"),
	}
	headerStray = map[int]jsonMembers{
		1: headerTable.set("release devices geometry waits threads real_addresses marks exclusive functions static_bytes"),
	}
	treeHeaderMust = headerTable.set("format version source seed functions")
	treeHeaderMay  = headerTable.set("static_bytes")
)

// parseHeader reads the first line. reason is "" if it is a header that the rest
// of the file can be read with.
func parseHeader(line []byte) (h *Header, reason string) {
	if reason = sniffFormat(line); reason != "" {
		return nil, reason
	}
	h = &Header{Devices: 1, Geometry: spec.DefaultGeometry()}
	c := &jsonCursor{line: line}
	seen := headerTable.read(c, h)
	c.end()
	if c.failed() {
		return nil, c.reason
	}
	stray, must := headerStray[h.Version], headerMust[h.Version]
	if h.Format == TreeFormat {
		stray, must = headerTable.all()&^(treeHeaderMust|treeHeaderMay), treeHeaderMust
		h.Streams, h.TotalMemory = []spec.Stream{0}, treeTotalMemory
		h.StaticBytes = cmp.Or(h.StaticBytes, treeStaticBytes)
	}
	if stray := headerTable.first(seen & stray); stray != "" {
		return nil, fmt.Sprintf("field %q is not in version %d of the format", stray, h.Version)
	}
	if missing := headerTable.first(must &^ seen); missing != "" {
		return nil, fmt.Sprintf("the header without %q", missing)
	}
	return h, h.check()
}

// sniffFormat finds out whether the line is the header of a trace of ours, passing
// over all fields but those that say so: the others may belong to another format.
func sniffFormat(line []byte) (reason string) {
	var h Header
	var hasFormat, hasVersion bool
	c := &jsonCursor{line: line}
	for c.open('{', "the header, an object"); c.more('}'); {
		switch c.key() {
		case "format":
			hasFormat, h.Format = true, c.text()
		case "version":
			hasVersion, h.Version = true, int(c.size())
		default:
			c.skip(1)
		}
	}
	c.end()
	switch {
	case c.failed():
		return c.reason
	case !hasFormat:
		return fmt.Sprintf(`no header: the first line has no "format" that says %q`, Format)
	case h.Format != Format && h.Format != TreeFormat:
		return fmt.Sprintf("the format is %q, not %q", shorten(h.Format), Format)
	case !hasVersion:
		return `the header without "version"`
	case h.Format == TreeFormat && h.Version != 1:
		return fmt.Sprintf("version %d of the format %s is not known, only 1 is", h.Version, h.Format)
	case h.Version != 1 && h.Version != Version:
		return fmt.Sprintf("version %d of the format is not known, only 1 and %d are", h.Version, Version)
	}
	return ""
}

// check says what is wrong with the values of a header, "" if nothing is.
func (h *Header) check() string {
	if err := h.Geometry.Validate(); err != nil {
		return err.Error()
	}
	sorted := slices.Sorted(slices.Values(h.Streams))
	switch {
	case h.TotalMemory == 0:
		return `"total_memory" is 0`
	case h.Devices < 1 || h.Devices > MaxDevices:
		return fmt.Sprintf(`"devices" is %d, not 1 to %d`, h.Devices, MaxDevices)
	case len(h.Streams) == 0 || h.Streams[0] != 0:
		return `"streams" does not begin with 0, the default stream`
	case len(slices.Compact(sorted)) < len(h.Streams):
		return `"streams" has a handle twice`
	case h.Threads < 0 || h.Threads*h.Devices >= len(h.Streams) && h.Threads > 0:
		return fmt.Sprintf(`"threads" is %d, more than there are "streams"`, h.Threads)
	case h.StreamIDs != nil && len(h.StreamIDs) != len(h.Streams):
		return fmt.Sprintf(`%d "stream_ids" for %d "streams"`, len(h.StreamIDs), len(h.Streams))
	}
	return ""
}
