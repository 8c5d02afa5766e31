package report

import (
	"encoding/binary"
	"encoding/json"
	"unicode/utf8"

	"gaugeblock/internal/quote"
	"gaugeblock/snapshot"
)

// The limits of call stacks on a page. Real ones are smaller.
const (
	maxFrames = 60  // of a stack, the innermost
	maxText   = 200 // characters of a file's or function's name

	// Bytes of all stacks of a page. Above the first number only the innermost and the own
	// frame of a new stack are kept, above the second its own frame, above the third none.
	twoFramesAbove = 500 << 10
	ownFrameAbove  = 700 << 10
	noFramesAbove  = 1000 << 10
)

// noStack is the number of a call stack that was not recorded, or is left out.
const noStack = -1

// stacks keeps each call stack, and each frame, once.
type stacks struct {
	Frames  []frame `json:"frames"`
	Stacks  [][]int `json:"stacks"`  // indexes into Frames, the innermost first
	Own     []int   `json:"own"`     // for each stack its snapshot.Frames.ProgramFrame
	LeftOut int     `json:"leftOut"` // stacks that are shown in part, or not at all

	room  float64 // how many times the bytes above there may be
	bytes int     // of the JSON
	stackNumbers
}

// stackNumbers finds what is known of call stacks and frames.
type stackNumbers struct {
	frameAt  map[snapshot.Frame]int
	stackAt  map[string]int
	sharedAt map[sharedStack]int
	shown    map[snapshot.Frame]shownFrame
	number   map[snapshot.Frame]uint32
	numberAt map[*snapshot.Frame]uint32 // found sooner, since most equal frames are the same memory
}

// sharedStack is equal for stacks that are the same memory, as most equal ones of a file are.
type sharedStack struct {
	first **snapshot.Frame
	n     int
}

type frame struct {
	Filename string `json:"filename"`
	Line     int    `json:"line"`
	Name     string `json:"name"`
}

// shownFrame is a frame as the page has it, and its bytes there.
type shownFrame struct {
	frame
	bytes int
}

// newStacks are of a report that shares the page with others, or not.
func newStacks(share int) stacks {
	return stacks{
		Frames: []frame{}, Stacks: [][]int{}, Own: []int{}, room: 1 / float64(max(1, share)),
		stackNumbers: stackNumbers{
			frameAt: map[snapshot.Frame]int{}, stackAt: map[string]int{}, sharedAt: map[sharedStack]int{}, shown: map[snapshot.Frame]shownFrame{},
			number: map[snapshot.Frame]uint32{}, numberAt: map[*snapshot.Frame]uint32{},
		},
	}
}

// add returns the number of a stack.
func (s *stacks) add(stack snapshot.Frames) int {
	if len(stack) == 0 {
		return noStack
	}
	shared := sharedStack{&stack[0], len(stack)}
	at, known := s.sharedAt[shared]
	if !known {
		at = s.addNew(stack)
		s.sharedAt[shared] = at
	}
	return at
}

// addNew is add for a stack that may be equal to another one.
func (s *stacks) addNew(stack snapshot.Frames) int {
	own := stack.ProgramIndex()
	key := s.keyOf(stack, own)
	if at, known := s.stackAt[key]; known {
		return at
	}
	kept := stack[:min(len(stack), maxFrames)]
	if own >= len(kept) {
		kept = append(kept[:maxFrames-1:maxFrames-1], stack[own])
		own = maxFrames - 1
	}
	above := func(cost, limit int) bool { return float64(s.bytes+cost) > s.room*float64(limit) }
	switch {
	case above(0, noFramesAbove):
		s.LeftOut++
		s.stackAt[key] = noStack
		return noStack
	case above(0, ownFrameAbove):
		kept, own = kept[own:own+1], 0
	case above(s.cost(kept), twoFramesAbove) && own > 0:
		kept, own = snapshot.Frames{kept[0], kept[own]}, 1
	case above(s.cost(kept), twoFramesAbove):
		kept = kept[:1]
	}
	if len(kept) < len(stack) {
		s.LeftOut++
	}
	numbers := make([]int, len(kept))
	for i, f := range kept {
		numbers[i] = s.frame(*f)
	}
	s.bytes += 6 * len(numbers)
	at := len(s.Stacks)
	s.stackAt[key] = at
	s.Stacks = append(s.Stacks, numbers)
	s.Own = append(s.Own, numbers[own])
	return at
}

// keyOf is different for different stacks, as far as they are shown.
func (s *stacks) keyOf(stack snapshot.Frames, own int) string {
	var key []byte
	for _, f := range stack[:min(len(stack), maxFrames)] {
		key = binary.LittleEndian.AppendUint32(key, s.numberOf(f))
	}
	return string(binary.LittleEndian.AppendUint32(key, s.numberOf(stack[own])))
}

// numberOf is the same for equal frames.
func (s *stacks) numberOf(f *snapshot.Frame) uint32 {
	n, known := s.numberAt[f]
	if !known {
		if n, known = s.number[*f]; !known {
			n = uint32(len(s.number))
			s.number[*f] = n
		}
		s.numberAt[f] = n
	}
	return n
}

// cost is how many bytes the frames that are new add.
func (s *stacks) cost(stack snapshot.Frames) int {
	sum := 0
	for _, f := range stack {
		if _, known := s.frameAt[*f]; !known {
			sum += s.show(*f).bytes
		}
	}
	return sum
}

// show is a frame as the page has it.
func (s *stacks) show(f snapshot.Frame) shownFrame {
	shown, known := s.shown[f]
	if !known {
		shown.frame = frame{shorten(f.Filename), f.Line, shorten(f.Name)}
		text, _ := json.Marshal(&shown.frame) // never fails
		shown.bytes = len(text) + 1
		s.shown[f] = shown
	}
	return shown
}

func (s *stacks) frame(f snapshot.Frame) int {
	at, known := s.frameAt[f]
	if !known {
		shown := s.show(f)
		at = len(s.Frames)
		s.frameAt[f] = at
		s.bytes += shown.bytes
		s.Frames = append(s.Frames, shown.frame)
	}
	return at
}

// shorten keeps the end of a text, which is the important part of a path, as one line.
func shorten(text string) string {
	if over := len(text) - 4*(maxText+1); over > 0 { // a character has at most 4 bytes, so more than maxText are left
		text = text[over:]
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
	}
	runes := []rune(quote.Text(text))
	if over := len(runes) - maxText; over > 0 {
		return "\u2026" + string(runes[over+1:])
	}
	return string(runes)
}

// shortenEnd keeps the first characters of a text.
func shortenEnd(text string, characters int) string {
	runes := []rune(quote.Text(text[:min(len(text), 4*(characters+1))])) // more than those, if there are
	if len(runes) > characters {
		return string(runes[:characters-1]) + "\u2026"
	}
	return string(runes)
}
