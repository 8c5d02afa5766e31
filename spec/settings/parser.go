package settings

// The grammar of a settings string, by its tokens:
//
//	settings = [ setting { "," setting } [ "," ] ]
//	setting  = word ":" ( word | list )
//	list     = "[" [ entry { "," entry } [ "," ] ] "]"
//	entry    = word ":" word
//
// with a list for roundup_power2_divisions and expandable_segments_reserve_by_class only.
//
// Upstream looks at the ':' and ',' but ignores what it finds there, so that
// "max_split_size_mb,100" and "backend:native]expandable_segments:True" work.
// Here a mark that is missing or wrong is refused.

// setting is a key with its value, as they stand in the string.
type setting struct {
	key   token
	value token // a word, or the '[' of a list
	list  []listEntry
}

// listEntry is a pair inside brackets.
type listEntry struct {
	name, value token
}

// takesList reports whether the value may be a list.
func (s setting) takesList() bool {
	return s.key.text == keyDivisions || s.key.text == keyReserveByClass
}

func (s setting) isList() bool { return s.value.kind == '[' }

// refuse is the error that blames a token of the setting.
func (s setting) refuse(t token, reason string) error {
	return &Error{Key: s.key.text, Text: t.text, Offset: t.offset, Reason: reason}
}

// parseSettings reads a whole string. Every key in the result has a setter.
func (g Grammar) parseSettings(text string) ([]setting, error) {
	p := settingsParser{grammar: g, rest: lexSettings(text)}
	var settings []setting
	for !p.at(endToken) {
		s, err := p.setting()
		if err != nil {
			return nil, err
		}
		settings = append(settings, s)
		if !p.at(endToken) {
			if _, err := p.need(',', s, "expected ',' or the end of the string"); err != nil {
				return nil, err
			}
		}
	}
	return settings, nil
}

// settingsParser holds the tokens that have not been read; the endToken is never
// taken off.
type settingsParser struct {
	grammar Grammar
	rest    []token
}

// at reports whether the next token is of the kind.
func (p *settingsParser) at(kind tokenKind) bool { return p.rest[0].kind == kind }

// take reads the next token if it is of the kind.
func (p *settingsParser) take(kind tokenKind) (token, bool) {
	t := p.rest[0]
	if !p.at(kind) {
		return t, false
	}
	p.rest = p.rest[1:]
	return t, true
}

// need reads the next token, which must be of the kind; s is what it belongs to.
func (p *settingsParser) need(kind tokenKind, s setting, reason string) (token, error) {
	t, ok := p.take(kind)
	if !ok {
		return t, s.refuse(t, reason)
	}
	return t, nil
}

func (p *settingsParser) setting() (s setting, err error) {
	if s.key, err = p.need(wordToken, s, "expected a key"); err != nil {
		return setting{}, err
	}
	if p.grammar.setter(s.key.text) == nil {
		return setting{}, s.refuse(s.key, p.grammar.unknownKey(s.key.text))
	}
	if _, err = p.need(':', s, "expected ':' after the key"); err != nil {
		return setting{}, err
	}
	if s.takesList() && p.at('[') {
		s.value, _ = p.take('[')
		s.list, err = p.list(s)
		return s, err
	}
	s.value, err = p.need(wordToken, s, "expected a value")
	return s, err
}

// list reads what follows the opening bracket, the closing one included.
func (p *settingsParser) list(s setting) (entries []listEntry, err error) {
	for {
		if _, ok := p.take(']'); ok {
			return entries, nil
		}
		var e listEntry
		if e.name, err = p.need(wordToken, s, "expected an entry of the list, or ']'"); err != nil {
			return nil, err
		}
		if _, err = p.need(':', s, "expected ':' in the entry"); err != nil {
			return nil, err
		}
		if e.value, err = p.need(wordToken, s, "expected the value of the entry"); err != nil {
			return nil, err
		}
		entries = append(entries, e)
		if !p.at(']') {
			if _, err = p.need(',', s, "expected ',' or ']'"); err != nil {
				return nil, err
			}
		}
	}
}
