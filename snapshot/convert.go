package snapshot

import (
	"cmp"
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// From plain values to a File. A pickle can use one list in a thousand places, and such
// lists in such lists. So that the result is never larger than the file, a list or dict
// is converted once, and refused the second time. (Call stacks, which real files share,
// have been read before; see trace_entry.go.)

// converter reads plain values.
type converter struct {
	*plain
	file *File
	seen map[string]bool // keys, by their names in upstream
}

// convert converts the whole file. Before PyTorch 2.0 it was only the list of segments.
func convert(values *plain, root value) (*File, error) {
	c := &converter{values, &File{}, map[string]bool{}}
	segments := root
	var top []value
	if root.kind == dict {
		var err error
		top, err = c.fields(root, "the snapshot")
		if err != nil {
			return nil, err
		}
		segments = c.get(top, "segments")
		if segments.kind == none {
			return nil, failAt(0, "this is no memory snapshot: it has no segments")
		}
		c.see("", top, "allocator_settings", "external_annotations", "host_segments", "host_traces")
		if err := c.beside(top); err != nil {
			return nil, err
		}
	}
	var err error
	if c.file.Segments, err = c.segments(segments, "segments", (*converter).deviceOf); err != nil {
		return nil, err
	}
	if err := c.allocatorSettings(c.get(top, "allocator_settings")); err != nil {
		return nil, err
	}
	return c.file, nil
}

// beside converts everything but the segments of devices and the settings.
func (c *converter) beside(top []value) error {
	type part struct {
		key  string
		read func(value) error
	}
	parts := []part{
		{"device_traces", c.deviceTraces},
		{"host_traces", c.hostTrace},
		{"host_segments", c.hostSegments},
		{"external_annotations", c.externalAnnotations},
	}
	// In the order in which they are in the file, since what was converted is forgotten.
	slices.SortStableFunc(parts, func(a, b part) int {
		return cmp.Compare(c.listOffset(c.get(top, a.key)), c.listOffset(c.get(top, b.key)))
	})
	for _, part := range parts {
		if v := c.get(top, part.key); v.kind != none {
			if err := part.read(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// listOffset is where a list is in the file; 0 for anything else.
func (c *converter) listOffset(v value) int64 {
	if v.kind != list {
		return 0
	}
	return c.lists.at(int(v.word)).offset
}

// segments converts a list of segments, and sorts them by device and address.
func (c *converter) segments(v value, what string, device func(*converter, value, []value) (spec.Device, error)) ([]spec.Segment, error) {
	items, err := c.items(v, what)
	if err != nil {
		return nil, err
	}
	var segments []spec.Segment
	for _, item := range items {
		s, err := c.segment(item, device)
		if err != nil {
			return nil, err
		}
		segments = append(segments, s)
	}
	slices.SortStableFunc(segments, func(a, b spec.Segment) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Address, b.Address))
	})
	return segments, nil
}

// deviceOf is the device of a segment.
func (c *converter) deviceOf(v value, items []value) (spec.Device, error) {
	var device uint64
	err := c.numbers(v, items, place{"device", &device})
	if err == nil && device >= maxDevices {
		err = failAt(c.offsetOf(v), "a segment is on device %d", device)
	}
	return spec.Device(device), err
}

// hostSegments converts the segments of pinned host memory, which name the device -1.
func (c *converter) hostSegments(v value) (err error) {
	noDevice := func(*converter, value, []value) (spec.Device, error) { return 0, nil }
	c.file.HostSegments, err = c.segments(v, "host_segments", noDevice)
	return err
}

// items returns the contents of a list, once.
func (c *converter) items(v value, what string) ([]value, error) {
	if v.kind != list {
		return nil, failAt(0, "%s is %v, not a list", what, v.kind)
	}
	return c.lists.at(int(v.word)).once(what)
}

// fields returns the keys and values of a dict, once.
func (c *converter) fields(v value, what string) ([]value, error) {
	switch {
	case v.kind != dict:
		return nil, failAt(0, "%s is %v, not a dict", what, v.kind)
	case c.placeOf(v) == 0:
		return nil, nil
	case c.placeOf(v) < 0:
		return nil, failAt(0, "%s is a trace entry", what)
	}
	return c.filled[c.placeOf(v)-1].once(what)
}

func (s *sequence) once(what string) ([]value, error) {
	if s.read {
		return nil, failAt(s.offset, "%s is used in two places", what)
	}
	s.read = true
	return s.items, nil
}

// offsetOf is the offset of a dict in the file.
func (c *converter) offsetOf(v value) int64 {
	if v.kind == dict && c.placeOf(v) > 0 {
		return c.filled[c.placeOf(v)-1].offset
	}
	return 0
}

// place is the key of a number, and where it is to be stored.
type place struct {
	key string
	to  *uint64
}

// numbers reads sizes and addresses. Missing keys are ignored.
func (c *converter) numbers(of value, items []value, places ...place) error {
	for _, p := range places {
		v := c.get(items, p.key)
		if v.kind == none {
			continue
		}
		n, ok := v.size()
		if !ok {
			return failAt(c.offsetOf(of), "%s is %v, or negative", p.key, v.kind)
		}
		*p.to = n
	}
	return nil
}

func (c *converter) segment(v value, device func(*converter, value, []value) (spec.Device, error)) (s spec.Segment, err error) {
	items, err := c.fields(v, "a segment")
	if err != nil {
		return s, err
	}
	var address uint64
	err = c.numbers(v, items,
		place{"address", &address}, place{"total_size", &s.TotalSize},
		place{"allocated_size", &s.AllocatedSize}, place{"active_size", &s.ActiveSize}, place{"requested_size", &s.RequestedSize})
	if err != nil {
		return s, err
	}
	if s.Device, err = device(c, v, items); err != nil {
		return s, err
	}
	s.Address = spec.Ptr(address)
	s.Stream, _ = streamOf(c.get(items, "stream"))
	s.Pool, _ = c.poolOf(c.get(items, "segment_pool_id"))
	c.see("segment.", items, "segment_pool_id")
	kind, _ := c.string(c.get(items, "segment_type"))
	if kind == spec.LargePool.String() {
		s.PoolKind = spec.LargePool
	}
	s.Expandable = c.get(items, "is_expandable") == value{boolean, 1}
	s.Context = c.frames(items)
	if c.exhausted == nil {
		c.exhausted = c.memory.take(segmentBytes, c.offsetOf(v))
	}
	switch {
	case c.exhausted != nil:
		return s, c.exhausted
	case kind != "large" && kind != "small":
		return s, failAt(c.offsetOf(v), "a segment is of type %q, neither large nor small", kind)
	case address+s.TotalSize < address:
		return s, failAt(c.offsetOf(v), "a segment of %d bytes at %v wraps around", s.TotalSize, s.Address)
	}
	return s, c.blocks(&s, c.get(items, "blocks"))
}

// maxDevices is more than the devices of any machine.
const maxDevices = 1024

// frames is the call stack of a segment or block as a Context, nil without one.
func (c *converter) frames(items []value) any {
	if i, ok := c.stackOf(c.get(items, "frames")); ok && i > 0 {
		return c.stacks.stacks[i]
	}
	return nil
}

// blocks converts the blocks of a segment, and checks that they are the whole segment.
func (c *converter) blocks(s *spec.Segment, v value) error {
	list, err := c.items(v, "the blocks of a segment")
	if err == nil {
		err = c.memory.take(uint64(len(list))*blockBytes, c.lists.at(int(v.word)).offset)
	}
	if err != nil {
		return err
	}
	s.Blocks = make([]spec.Block, 0, len(list))
	end, offset := s.Address, c.lists.at(int(v.word)).offset
	for _, item := range list {
		b, err := c.block(item, end)
		if err != nil {
			return err
		}
		if b.Address != end || b.Address+spec.Ptr(b.Size) < b.Address {
			return failAt(c.offsetOf(item), "a block at %v of %d bytes does not follow the one that ends at %v", b.Address, b.Size, end)
		}
		end += spec.Ptr(b.Size)
		s.Blocks = append(s.Blocks, b)
	}
	if end != s.Address+spec.Ptr(s.TotalSize) {
		return failAt(offset, "the blocks of the segment at %v have %d bytes, the segment has %d", s.Address, uint64(end-s.Address), s.TotalSize)
	}
	return nil
}

// block converts a block. In older files it has no address, and follows the one before.
func (c *converter) block(v value, behind spec.Ptr) (spec.Block, error) {
	items, err := c.fields(v, "a block")
	if err != nil {
		return spec.Block{}, err
	}
	b := spec.Block{Context: c.frames(items)}
	if c.exhausted != nil {
		return b, c.exhausted
	}
	address := uint64(behind)
	err = c.numbers(v, items, place{"address", &address}, place{"size", &b.Size}, place{"requested_size", &b.RequestedSize})
	if err != nil {
		return b, err
	}
	b.Address = spec.Ptr(address)
	state, _ := c.string(c.get(items, "state"))
	var known bool
	if b.State, known = spec.ParseBlockState(state); !known {
		return b, failAt(c.offsetOf(v), "a block is in state %q", state)
	}
	return b, c.blockHistory(&b, items)
}

// blockHistory reads what PyTorch 2.0 has in place of frames: a list of the allocations
// of a block, the last one first, each with its size and call stack.
func (c *converter) blockHistory(b *spec.Block, items []value) error {
	history := c.get(items, "history")
	if history.kind != list {
		return nil
	}
	c.seen["block.history"] = true
	list, err := c.items(history, "the history of a block")
	if err != nil || len(list) == 0 || b.State == spec.Inactive {
		return err
	}
	last, err := c.fields(list[0], "the history of a block")
	if err != nil {
		return err
	}
	if b.Context == nil {
		b.Context = c.frames(last)
	}
	if size, ok := c.get(last, "real_size").size(); ok && b.RequestedSize == 0 {
		b.RequestedSize = size
	}
	return nil
}

// deviceTraces converts the history of each device.
func (c *converter) deviceTraces(v value) error {
	devices, err := c.items(v, "device_traces")
	if err != nil {
		return err
	}
	if len(devices) > maxDevices {
		return failAt(c.lists.at(int(v.word)).offset, "the traces of %d devices", len(devices))
	}
	for device, trace := range devices {
		entries, unknown, err := c.trace(trace, fmt.Sprintf("the trace of device %d", device))
		if err != nil {
			return err
		}
		c.file.DeviceTraces = append(c.file.DeviceTraces, entries)
		c.file.UnknownActions = append(c.file.UnknownActions, unknown)
	}
	return nil
}

// hostTrace converts the history of pinned host memory. Actions that are not known are left out.
func (c *converter) hostTrace(v value) (err error) {
	c.file.HostTrace, _, err = c.trace(v, "host_traces")
	return err
}

// trace converts a history, and counts the entries whose actions are not known.
func (c *converter) trace(v value, what string) ([]TraceEntry, []UnknownAction, error) {
	unknown := make([]UnknownAction, len(c.unknownActions))
	items, err := c.items(v, what)
	if err != nil {
		return nil, nil, err
	}
	entries := make([]TraceEntry, 0, len(items))
	var silent []TraceEntry
	for _, item := range items {
		e, err := c.entry(item)
		if err == nil {
			err = c.memory.take(entryBytes, c.listOffset(v))
		}
		if err != nil {
			return nil, nil, err
		}
		switch e.Action {
		default:
			entries = append(entries, e)
		case silentAction:
			silent = append(silent, e)
		case unknownAction:
			unknown[e.Stream].Action = c.unknownActions[e.Stream]
			unknown[e.Stream].Entries++
		}
	}
	annotate(entries, silent)
	unknown = slices.DeleteFunc(unknown, func(u UnknownAction) bool { return u.Entries == 0 })
	return entries, slices.Clip(unknown), nil
}

// annotate gives what is said of blocks to their allocations: the last one at the address,
// by time, before the annotation.
func annotate(entries, annotations []TraceEntry) {
	said := map[spec.Ptr][]*TraceEntry{}
	for i := range annotations {
		if a := &annotations[i]; a.Context.UserMetadata != "" {
			said[a.Addr] = append(said[a.Addr], a)
		}
	}
	for i := range slices.Backward(entries) {
		e := &entries[i]
		if e.Action != spec.ActionAlloc || len(said[e.Addr]) == 0 {
			continue
		}
		left := said[e.Addr][:0]
		for _, a := range said[e.Addr] {
			if a.TimeUS < e.TimeUS {
				left = append(left, a)
				continue
			}
			context := *e.Context
			context.UserMetadata = a.Context.UserMetadata
			e.Context = &context
		}
		said[e.Addr] = left
	}
}

// entry is a trace entry, or an error that says why the value is none. Entries are in the order
// in which they are read, and what was converted is forgotten, since a large snapshot is little
// else.
func (c *converter) entry(v value) (TraceEntry, error) {
	if v.kind == dict && c.placeOf(v) < 0 {
		i := int(-c.placeOf(v) - 1)
		if !c.entries.has(i) {
			return TraceEntry{}, failAt(0, "a trace entry is used in two places")
		}
		e := *c.entries.at(i)
		c.memory.give(uint64(c.entries.drop(i)) * entryBytes)
		return e, nil
	}
	items, err := c.fields(v, "a trace entry")
	if err != nil {
		return TraceEntry{}, err
	}
	_, problem := c.entryOf(items, c.offsetOf(v))
	return TraceEntry{}, failAt(c.offsetOf(v), "%s", problem)
}

// externalAnnotations converts annotations: the device, the time, and all other fields as
// strings.
func (c *converter) externalAnnotations(v value) error {
	annotations, err := c.items(v, "external_annotations")
	if err != nil {
		return err
	}
	for _, annotation := range annotations {
		items, err := c.fields(annotation, "an annotation")
		if err == nil {
			err = c.memory.take(annotationBytes+uint64(len(items))*fieldBytes, c.offsetOf(annotation))
		}
		if err != nil {
			return err
		}
		var a spec.Annotation
		for i := 0; i+1 < len(items); i += 2 {
			key, _ := c.string(items[i])
			n, isNumber := items[i+1].signed()
			switch {
			case key == "device" && isNumber:
				a.Device = spec.Device(n)
			case key == "time_us" && isNumber:
				a.TimeNS = n * 1000
			default:
				if text, ok := c.scalar(items[i+1]); ok {
					a.Fields = append(a.Fields, spec.AnnotationField{Key: key, Value: text})
				}
			}
		}
		c.file.ExternalAnnotations = append(c.file.ExternalAnnotations, a)
	}
	return nil
}
