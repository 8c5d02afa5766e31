package snapshot

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Plain values: the values of pickles and JSON. A million trace entries take tens of
// megabytes. A value is a kind and one word. What does not fit in a word is in the lists
// of a plain, each string once.

type kind uint8

const (
	none     kind = iota
	boolean       // 0 or 1
	integer       // an int64
	unsigned      // a uint64 too large for an int64
	float         // a float64
	text          // index into plain.texts
	list          // index into plain.lists
	dict          // index into plain.dicts
)

var kindNames = [...]string{"None", "a bool", "an int", "an int", "a float", "a str", "a list", "a dict"}

func (k kind) String() string { return kindNames[k] }

type value struct {
	kind kind
	word uint64
}

// plain holds what the words of values refer to.
type plain struct {
	memory    *budget
	exhausted error // what the budget has said to a call stack
	texts     []string
	textAt    map[string]uint32
	lists     chunkedList[sequence]
	dicts     chunkedList[dictPlace]
	filled    []sequence // dicts that are not trace entries: keys and values in turn

	// Trace entries, and what they share; see trace_entry.go.
	entries    chunkedList[TraceEntry]
	contexts   map[contextKey]*Context
	metadataAt map[value]uint32 // by a value that is not text
	stacks     stackTable

	unknownActions []string  // names
	entryKeys      entryKeys // of all trace entries
}

// dictPlace is where the contents of a dict are: plain.filled[place-1] if it is positive,
// entry -place-1 of plain.entries if it is negative, and nowhere if it is 0.
type dictPlace int32

// sequence is a list, or the keys and values of a dict.
type sequence struct {
	items  []value
	offset int64 // in the file
	read   bool  // has been converted; see convert.go
}

func newPlain(memory *budget) *plain {
	return &plain{memory: memory, textAt: map[string]uint32{}, contexts: map[contextKey]*Context{}, metadataAt: map[value]uint32{}, stacks: newStackTable()}
}

func (p *plain) text(t []byte, offset int64) (value, error) {
	at, known := p.textAt[string(t)]
	if !known {
		if err := p.memory.take(uint64(len(t))+mapBytes, offset); err != nil {
			return value{}, err
		}
		at = uint32(len(p.texts))
		p.texts = append(p.texts, string(t))
		p.textAt[p.texts[at]] = at
	}
	return value{text, uint64(at)}, nil
}

func (p *plain) newList(items []value, offset int64) (value, error) {
	if err := p.memory.take(sequenceBytes+uint64(len(items))*valueBytes, offset); err != nil {
		return value{}, err
	}
	return value{list, uint64(p.lists.add(sequence{items: slices.Clone(items), offset: offset}))}, nil
}

func (p *plain) newDict(offset int64) (value, error) {
	if err := p.memory.take(dictPlaceBytes, offset); err != nil {
		return value{}, err
	}
	return value{dict, uint64(p.dicts.add(0))}, nil
}

// extend appends to a list.
func (p *plain) extend(l value, items []value, offset int64) error {
	if err := p.memory.take(uint64(len(items))*valueBytes, offset); err != nil {
		return err
	}
	s := p.lists.at(int(l.word))
	s.items = append(s.items, items...)
	return nil
}

// fill adds keys and values to a dict. A dict with those of a trace entry becomes one.
func (p *plain) fill(d value, items []value, offset int64) error {
	place := p.dicts.at(int(d.word))
	asDict := sequenceBytes + uint64(len(items))*valueBytes
	switch {
	case *place > 0:
		if err := p.memory.take(asDict, offset); err != nil {
			return err
		}
		s := &p.filled[*place-1]
		s.items = append(s.items, items...)
	case *place < 0:
		return failAt(offset, "a trace entry is changed after it was made")
	default:
		e, problem := p.entryOf(items, offset)
		if p.exhausted != nil {
			return p.exhausted
		}
		price := entryBytes
		if problem != "" {
			price = asDict
		}
		if err := p.memory.take(price, offset); err != nil {
			return err
		}
		if problem == "" {
			*place = -1 - dictPlace(p.entries.add(e))
			break
		}
		p.filled = append(p.filled, sequence{items: slices.Clone(items), offset: offset})
		*place = dictPlace(len(p.filled))
	}
	return nil
}

// placeOf is the place of the contents of a dict.
func (p *plain) placeOf(d value) dictPlace { return *p.dicts.at(int(d.word)) }

// get is the value of a key in the items of a dict, the last one if there are two.
func (p *plain) get(items []value, key string) value {
	for i := len(items) - 2; i >= 0; i -= 2 {
		if k := items[i]; k.kind == text && p.texts[k.word] == key {
			return items[i+1]
		}
	}
	return value{}
}

// size is the value of a number that is not negative.
func (v value) size() (uint64, bool) {
	return v.word, v.kind == unsigned || v.kind == integer && int64(v.word) >= 0
}

// signed is the value of a number that fits an int64.
func (v value) signed() (int64, bool) { return int64(v.word), v.kind == integer }

// number is the value of any number.
func (v value) number() (float64, bool) {
	switch v.kind {
	case integer:
		return float64(int64(v.word)), true
	case unsigned:
		return float64(v.word), true
	case float:
		return math.Float64frombits(v.word), true
	}
	return 0, false
}

// string is the value of a text.
func (p *plain) string(v value) (string, bool) {
	if v.kind != text {
		return "", false
	}
	return p.texts[v.word], true
}

// scalar is a value other than a list or dict, as Python prints it.
func (p *plain) scalar(v value) (string, bool) {
	switch v.kind {
	case none:
		return "None", true
	case boolean:
		return [...]string{"False", "True"}[v.word], true
	case integer:
		return strconv.FormatInt(int64(v.word), 10), true
	case unsigned:
		return strconv.FormatUint(v.word, 10), true
	case float:
		return pythonFloat(math.Float64frombits(v.word)), true
	}
	return p.string(v)
}

// longestRepr is how many bytes of a value that is not text are kept as text.
const longestRepr = 200

// repr is a value as Python prints it, shortened.
func (p *plain) repr(v value) string {
	text := string(p.appendRepr(nil, v))
	if len(text) > longestRepr {
		text = strings.ToValidUTF8(text[:longestRepr], "") + "..."
	}
	return text
}

func (p *plain) appendRepr(to []byte, v value) []byte {
	if len(to) > longestRepr {
		return to // a list may contain itself
	}
	switch v.kind {
	case list:
		to = append(to, '[')
		for i, item := range p.lists.at(int(v.word)).items {
			if i > 0 {
				to = append(to, ", "...)
			}
			if to = p.appendRepr(to, item); len(to) > longestRepr {
				return to
			}
		}
		return append(to, ']')
	case dict:
		if p.placeOf(v) < 0 {
			return append(to, "{...}"...) // it was read as a trace entry
		}
		to = append(to, '{')
		if p.placeOf(v) > 0 {
			items := p.filled[p.placeOf(v)-1].items
			for i := 0; i+1 < len(items) && len(to) <= longestRepr; i += 2 {
				if i > 0 {
					to = append(to, ", "...)
				}
				to = p.appendRepr(append(p.appendRepr(to, items[i]), ": "...), items[i+1])
			}
		}
		return append(to, '}')
	}
	scalar, _ := p.scalar(v)
	if v.kind == text {
		return strconv.AppendQuote(to, scalar[:min(len(scalar), longestRepr)])
	}
	return append(to, scalar...)
}

// pythonFloat is a float as Python prints it: 1.0, 1000000.0, 1e+16, inf, nan.
func pythonFloat(f float64) string {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	}
	const least, most = 1e-4, 1e16 // numbers outside of these have an exponent
	if size := math.Abs(f); size != 0 && (size < least || size >= most) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
