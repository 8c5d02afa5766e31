package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"gaugeblock/snapshot"
)

// What a page keeps of call stacks at most. Real ones are smaller.
const (
	maxFrames = 60  // of a stack, the innermost
	maxText   = 200 // characters of a file's or function's name
)

// noStack stands for a call stack that was not recorded.
const noStack = -1

// stacks keeps each call stack, and each frame, once.
type stacks struct {
	Frames []frame `json:"frames"`
	Stacks [][]int `json:"stacks"` // indexes into Frames, the innermost first
	Own    []int   `json:"own"`    // for each stack the frame in it that is the program's own

	frameAt map[snapshot.Frame]int
	stackAt map[string]int
}

type frame struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Name string `json:"name"`
}

// add gives the number of a stack.
func (s *stacks) add(stack snapshot.Stack) int {
	if len(stack) == 0 {
		return noStack
	}
	if s.stackAt == nil {
		s.frameAt, s.stackAt = map[snapshot.Frame]int{}, map[string]int{}
	}
	stack = stack[:min(len(stack), maxFrames)]
	numbers := make([]int, len(stack))
	var key strings.Builder
	for i, f := range stack {
		numbers[i] = s.frame(f)
		key.WriteRune(rune(numbers[i]))
	}
	at, known := s.stackAt[key.String()]
	if !known {
		at = len(s.Stacks)
		s.stackAt[key.String()] = at
		s.Stacks = append(s.Stacks, numbers)
		s.Own = append(s.Own, numbers[ownFrame(stack)])
	}
	return at
}

func (s *stacks) frame(f snapshot.Frame) int {
	at, known := s.frameAt[f]
	if !known {
		at = len(s.Frames)
		s.frameAt[f] = at
		s.Frames = append(s.Frames, frame{shorten(f.File), f.Line, shorten(f.Name)})
	}
	return at
}

// ownFrame is where the innermost frame is that belongs to the program and not to a
// library: what its author can change.
func ownFrame(stack snapshot.Stack) int {
	for i, f := range stack {
		if !strings.Contains(f.File, "site-packages") && !strings.Contains(f.File, "dist-packages") && !strings.HasPrefix(f.File, "<") {
			return i
		}
	}
	return 0
}

// shorten keeps a text's end, which tells more of a path than its beginning. Characters
// that cannot be seen, or turn the direction of others, become ones that can.
func shorten(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
	over := utf8.RuneCountInString(text) - maxText
	if over <= 0 {
		return text
	}
	runes := []rune(text)
	return "\u2026" + string(runes[over+1:])
}
