package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"gaugeblock/snapshot"
)

// The limits of call stacks on a page. Real ones are smaller.
const (
	maxFrames = 60  // of a stack, the innermost
	maxText   = 200 // characters of a file's or function's name
)

// noStack is the number of a call stack that was not recorded.
const noStack = -1

// stacks keeps each call stack, and each frame, once.
type stacks struct {
	Frames []frame `json:"frames"`
	Stacks [][]int `json:"stacks"` // indexes into Frames, the innermost first
	Own    []int   `json:"own"`    // for each stack its innermost frame outside of libraries

	frameAt map[snapshot.Frame]int
	stackAt map[string]int
}

type frame struct {
	Filename string `json:"filename"`
	Line     int    `json:"line"`
	Name     string `json:"name"`
}

// add returns the number of a stack.
func (s *stacks) add(stack snapshot.Frames) int {
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
		s.Frames = append(s.Frames, frame{shorten(f.Filename), f.Line, shorten(f.Name)})
	}
	return at
}

// ownFrame is the index of the innermost frame outside of libraries: the code that the
// author of the program can change.
func ownFrame(stack snapshot.Frames) int {
	for i, f := range stack {
		if !strings.Contains(f.Filename, "site-packages") && !strings.Contains(f.Filename, "dist-packages") && !strings.HasPrefix(f.Filename, "<") {
			return i
		}
	}
	return 0
}

// shorten keeps the end of a text, which is the important part of a path. Characters that
// are invisible, or change the direction of others, are replaced by visible ones.
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
