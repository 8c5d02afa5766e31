package snapshot

import (
	"encoding/binary"
	"slices"

	"gaugeblock/spec"
)

// A large snapshot consists nearly entirely of trace entries. Each is a dict, and becomes
// a TraceEntry, of a quarter of the size, as soon as its keys are read. Entries share
// equal call stacks and strings.

// entryOf makes a trace entry of the keys and values of a dict, or says why it cannot.
func (p *plain) entryOf(items []value, offset int64) (e TraceEntry, problem string) {
	action := spec.Action(0)
	hasAction, known, name := false, false, ""
	key, seen := contextKey{}, entryKeys(0)
	for i := 0; i+1 < len(items); i += 2 {
		if items[i].kind != text {
			continue
		}
		v, ok := items[i+1], true
		switch p.texts[items[i].word] {
		case "action":
			name, hasAction = p.string(v)
			action, known = spec.ParseAction(name)
		case "addr", "device_free":
			var n uint64
			n, ok = v.size()
			e.Addr = spec.Ptr(n)
		case "size":
			e.Size, ok = v.size()
		case "stream":
			e.Stream, ok = streamOf(v)
		case "time_us":
			e.TimeUS, ok = v.signed()
			seen |= keyTime
		case "frames":
			key.stack, ok = p.stackOf(v)
		case "compile_context":
			key.compile, ok = p.interned(v)
			seen |= keyCompileContext
		case "user_metadata":
			key.metadata, ok = p.metadata(v)
			seen |= keyUserMetadata
		case "internal_metadata":
			seen |= keyInternalMetadata
		case "pool_id", "segment_pool_id", "mempool_id":
			seen |= keyPool
			key.pool, ok = p.poolOf(v)
			key.poolKnown = true
		}
		if !ok {
			return e, "the value of " + p.texts[items[i].word] + " in a trace entry is " + v.kind.String()
		}
	}
	if !hasAction {
		return e, "a trace entry has no action"
	}
	if name == "annotate" {
		seen |= keyAnnotate
	}
	p.entryKeys |= seen
	e.Action = action
	switch {
	case slices.Contains(silentActions, name):
		e.Action = silentAction
	case !known:
		e.Action = unknownAction
		e.Stream = spec.Stream(p.unknownAction(name))
	}
	e.Context = p.context(key, offset)
	return e, ""
}

// silentActions are the actions of entries that decide nothing: what a program says of a
// block (annotate, since 2.14) and of itself. What an annotation says is kept with the
// allocation of the block.
var silentActions = []string{"annotate", "user_defined"}

// silentAction marks such entries, which are not in a File.
const silentAction = spec.Action(254)

// unknownAction marks entries with actions of other versions of PyTorch. They are not in
// a File, which has their number. The Stream is the index of the name.
const unknownAction = spec.Action(255)

// unknownAction returns the index of the name of an unknown action. Names beyond the
// first few are counted as one.
func (p *plain) unknownAction(name string) int {
	const most = 20
	if i := slices.Index(p.unknownActions, name); i >= 0 {
		return i
	}
	if len(p.unknownActions) == most {
		name = "others"
	}
	if len(p.unknownActions) <= most {
		p.unknownActions = append(p.unknownActions, name)
	}
	return len(p.unknownActions) - 1
}

// streamOf reads the handle of a stream, which may be a negative number in Python.
func streamOf(v value) (spec.Stream, bool) {
	return spec.Stream(v.word), v.kind == integer || v.kind == unsigned
}

// poolOf reads the pair of numbers of a pool ID.
func (p *plain) poolOf(v value) (spec.PoolID, bool) {
	if v.kind != list || len(p.lists.at(int(v.word)).items) != 2 {
		return spec.PoolID{}, false
	}
	pair := p.lists.at(int(v.word)).items
	capture, ok1 := pair[0].size()
	user, ok2 := pair[1].size()
	return spec.PoolID{Capture: capture, User: user}, ok1 && ok2
}

// interned is the number of a string, 0 for None and the empty string.
func (p *plain) interned(v value) (uint32, bool) {
	if v.kind == none || v.kind == text && p.texts[v.word] == "" {
		return 0, true
	}
	return uint32(v.word) + 1, v.kind == text
}

// metadata is the number of what a program says, which may be any value.
func (p *plain) metadata(v value) (uint32, bool) {
	if v.kind == none || v.kind == text {
		return p.interned(v)
	}
	if i, known := p.metadataAt[v]; known {
		return i, true
	}
	t, err := p.text([]byte(p.repr(v)), 0)
	if err != nil {
		p.exhausted = err
		return 0, false
	}
	i, ok := p.interned(t)
	p.metadataAt[v] = i
	return i, ok
}

func (p *plain) internedText(i uint32) string {
	if i == 0 {
		return ""
	}
	return p.texts[i-1]
}

// contextKey is equal for equal contexts.
type contextKey struct {
	stack, compile, metadata uint32
	pool                     spec.PoolID
	poolKnown                bool
}

func (p *plain) context(k contextKey, offset int64) *Context {
	c := p.contexts[k]
	if c == nil {
		if err := p.memory.take(contextBytes, offset); err != nil {
			p.exhausted = err
			return nil
		}
		c = &Context{
			Frames:         p.stacks.stacks[k.stack],
			CompileContext: p.internedText(k.compile),
			UserMetadata:   p.internedText(k.metadata),
			Pool:           k.pool, PoolKnown: k.poolKnown,
		}
		p.contexts[k] = c
	}
	return c
}

// stackTable keeps each call stack once. Stack 0 is the empty one.
type stackTable struct {
	stacks  []Frames
	lists   []uint64          // of each stack a list in plain.lists
	byList  map[uint64]uint32 // plain.lists to stacks
	byDict  map[uint64]uint32 // plain.dicts to frames
	byID    map[string]uint32 // numbers of frames to stacks
	frameAt map[Frame]uint32
	frames  []*Frame
	ids     []byte // scratch
}

func newStackTable() stackTable {
	return stackTable{
		stacks: make([]Frames, 1), lists: make([]uint64, 1),
		byList: map[uint64]uint32{}, byDict: map[uint64]uint32{}, byID: map[string]uint32{"": 0}, frameAt: map[Frame]uint32{},
	}
}

// stackOf reads a list of frames. A list or frame that is used in many places is read
// once.
func (p *plain) stackOf(v value) (uint32, bool) {
	if v.kind == none {
		return 0, true
	}
	if v.kind != list {
		return 0, false
	}
	t := &p.stacks
	if i, known := t.byList[v.word]; known {
		return i, true
	}
	t.ids = t.ids[:0]
	for _, item := range p.lists.at(int(v.word)).items {
		frame, ok := p.frameOf(item)
		if !ok {
			return 0, false
		}
		t.ids = binary.LittleEndian.AppendUint32(t.ids, frame)
	}
	i, known := t.byID[string(t.ids)]
	price := mapBytes
	if !known {
		price += mapBytes + uint64(len(t.ids)/4)*(4+pointerBytes)
	}
	if p.exhausted = p.memory.take(price, p.lists.at(int(v.word)).offset); p.exhausted != nil {
		return 0, false
	}
	if !known {
		i = uint32(len(t.stacks))
		t.byID[string(t.ids)] = i
		t.stacks = append(t.stacks, t.framesByID(t.ids))
		t.lists = append(t.lists, v.word)
	}
	t.byList[v.word] = i
	p.share(v, t.lists[i])
	return i, true
}

// share makes a list have the items of another, if they are equal: PyTorch writes a list for each
// entry, and most are stacks that were there before.
func (p *plain) share(v value, with uint64) {
	s, first := p.lists.at(int(v.word)), p.lists.at(int(with))
	if v.word == with || len(s.items) == 0 || !slices.Equal(s.items, first.items) {
		return
	}
	s.items = slices.Clip(first.items) // what is added to one is not in the other
	p.memory.give(uint64(len(s.items)) * valueBytes)
}

func (t *stackTable) framesByID(ids []byte) Frames {
	stack := make(Frames, 0, len(ids)/4)
	for ; len(ids) > 0; ids = ids[4:] {
		stack = append(stack, t.frames[binary.LittleEndian.Uint32(ids)])
	}
	return stack
}

func (p *plain) frameOf(v value) (uint32, bool) {
	t := &p.stacks
	if v.kind != dict || p.placeOf(v) <= 0 {
		return 0, false
	}
	if i, known := t.byDict[v.word]; known {
		return i, true
	}
	of := &p.filled[p.placeOf(v)-1]
	f := &Frame{}
	f.Filename, _ = p.string(p.get(of.items, "filename"))
	f.Name, _ = p.string(p.get(of.items, "name"))
	line, _ := p.get(of.items, "line").signed()
	f.Line = int(line)
	i, known := t.frameAt[*f]
	if p.exhausted = p.memory.take(2*mapBytes+2*frameBytes, of.offset); p.exhausted != nil {
		return 0, false
	}
	if !known {
		i = uint32(len(t.frames))
		t.frameAt[*f] = i
		t.frames = append(t.frames, f)
	}
	t.byDict[v.word] = i
	return i, true
}
