package tla

import (
	"fmt"
	"slices"
	"strings"
)

// A token of a module, and where it stands: the layout of TLA+ has a meaning.
type token struct {
	text      string
	line, col int // from 1
}

// operators of more than one character, the longer first where one begins another.
var operators = strings.Fields(`-+-> |-> <=> ::= /\ \/ == => =< >= <= /= ~> -> <- << >> .. [] <> :> @@ (+) ||`)

// tokens splits a module's text and leaves out comments, frames and everything outside of them.
func tokens(text string) (all []token, err error) {
	line, begin := 1, 0 // begin is where the line does
	for i := 0; i < len(text); {
		rest, at := text[i:], token{line: line, col: i - begin + 1}
		n := 1
		switch c := text[i]; {
		case c == '\n':
			line, begin = line+1, i+1
		case c == ' ' || c == '\t' || c == '\r':
		case strings.HasPrefix(rest, "(*"):
			if n = blockComment(rest); n == 0 {
				return nil, fmt.Errorf("line %d: a comment that does not end", line)
			}
			if newlines := strings.Count(rest[:n], "\n"); newlines > 0 {
				line, begin = line+newlines, i+strings.LastIndexByte(rest[:n], '\n')+1
			}
		case strings.HasPrefix(rest, `\*`), strings.HasPrefix(rest, "----"), strings.HasPrefix(rest, "===="):
			if n = strings.IndexByte(rest, '\n'); n < 0 {
				n = len(rest)
			}
		default:
			if n, err = tokenLength(rest); err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
			at.text = rest[:n]
			all = append(all, at)
		}
		i += n
	}
	return all, nil
}

// blockComment is the length of the comment at the beginning; comments nest. 0: it does not end.
func blockComment(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "(*":
			depth++
			i++
		case "*)":
			depth--
			i++
		}
		if depth == 0 {
			return i + 1
		}
	}
	return 0
}

func tokenLength(text string) (int, error) {
	switch c := text[0]; {
	case c == '"':
		end := strings.IndexByte(text[1:], '"')
		if end < 0 {
			return 0, fmt.Errorf("a string that does not end")
		}
		return end + 2, nil
	case isNameByte(c):
		return nameLength(text), nil
	}
	for _, op := range operators {
		if strings.HasPrefix(text, op) {
			return len(op), nil
		}
	}
	if text[0] == '\\' && len(text) > 1 && isNameByte(text[1]) {
		return 1 + nameLength(text[1:]), nil // \in, \cup
	}
	return 1, nil
}

func nameLength(text string) int {
	if i := strings.IndexFunc(text, func(r rune) bool { return r > 127 || !isNameByte(byte(r)) }); i >= 0 {
		return i
	}
	return len(text)
}

func isNameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// A node is a piece of an expression.
type node struct {
	text  string // of a token; the opening bracket; /\ or \/ of a list; IF, LET, or ":" of a quantifier's body
	parts []expr // of a bracket, a list, an IF; a LET's definitions and body
	close string // the closing bracket
}

// An expr is what stands between two separators, from left to right.
type expr []node

// A parser reads expressions as TLA+ does, as far as the structure matters: brackets, lists
// whose bullets stand in one column, IF, LET, and quantifiers that extend as far as they can.
type parser struct {
	tokens []token
	at     int
}

func (p *parser) peek() token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return token{}
}

var closers = map[string]string{"(": ")", "[": "]", "{": "}", "<<": ">>"}

var quantifiers = []string{`\A`, `\E`, "CHOOSE", "LAMBDA"}

// enders end an expression. What begins with one of those that separate goes on behind it.
var enders = strings.Fields(") ] } >> THEN ELSE IN , : -> |-> EXCEPT WITH <- ==")

// expr reads up to an ender, or to a token that stands no further right than col.
func (p *parser) expr(col int) (e expr) {
	for {
		t := p.peek()
		if t.text == "" || t.col <= col || slices.Contains(enders, t.text) || p.atDefinition() {
			return e
		}
		prefix := len(e) == 0 || isOperator(e[len(e)-1])
		if t.text == "[]" && !prefix { // of CASE
			return e
		}
		e = append(e, p.node(t, col, prefix))
	}
}

func (p *parser) node(t token, col int, prefix bool) node {
	switch {
	case prefix && (t.text == `/\` || t.text == `\/`):
		return p.list(t)
	case closers[t.text] != "":
		p.at++
		n := node{text: t.text, close: closers[t.text]}
		n.parts = p.separated(col, n.close)
		p.at++
		return n
	case t.text == "IF":
		n := node{text: "IF"}
		for range 3 { // IF, THEN, ELSE
			p.at++
			n.parts = append(n.parts, p.expr(col))
		}
		return n
	case t.text == "LET":
		p.at++
		n := node{text: "LET"}
		for p.peek().text != "IN" && p.peek().text != "" {
			n.parts = append(n.parts, p.definition(col))
		}
		p.at++
		n.parts = append(n.parts, p.expr(col))
		return n
	case t.text == "CASE":
		n := node{text: "CASE"}
		for again := true; again; again = p.peek().text == "[]" && p.peek().col > col {
			p.at++
			n.parts = append(n.parts, p.expr(col)) // up to ->
			p.at++
			n.parts = append(n.parts, p.expr(col))
		}
		return n
	case slices.Contains(quantifiers, t.text):
		n := node{text: t.text}
		p.at++
		for p.peek().text != ":" && p.peek().text != "" {
			n.parts = append(n.parts, append(p.expr(col), p.separator(":")...))
		}
		p.at++
		n.parts = append(n.parts, p.expr(col))
		return n
	}
	p.at++
	return node{text: t.text}
}

// separator takes a separator that is not the one that ends.
func (p *parser) separator(end string) expr {
	t := p.peek()
	if t.text == end || t.text == "" {
		return nil
	}
	p.at++
	return expr{{text: t.text}}
}

// list reads a list whose bullets stand in the column of the first.
func (p *parser) list(first token) node {
	n := node{text: first.text}
	for p.peek().text == first.text && p.peek().col == first.col {
		p.at++
		n.parts = append(n.parts, p.expr(first.col))
	}
	return n
}

// separated reads expressions and what stands between them, up to a closing bracket.
func (p *parser) separated(col int, end string) (all []expr) {
	for t := p.peek(); t.text != end && t.text != "" && t.col > col; t = p.peek() {
		before := p.at
		if e := p.expr(col); len(e) > 0 {
			all = append(all, e)
		}
		if s := p.separator(end); s != nil && p.at > before {
			all = append(all, s)
		}
	}
	return all
}

// definition reads "NAME(parameters) == expression" of a LET.
func (p *parser) definition(col int) (e expr) {
	for p.peek().text != "==" && p.peek().text != "" {
		e = append(e, node{text: p.peek().text})
		p.at++
	}
	p.at++
	return append(append(e, node{text: "=="}), p.expr(col)...)
}

// atDefinition reports whether a definition of a LET begins here.
func (p *parser) atDefinition() bool {
	if t := p.peek().text; t == "RECURSIVE" {
		return true
	} else if !isNameByte(t[0]) || p.at+1 >= len(p.tokens) {
		return false
	}
	i := p.at + 1
	if end := closers[p.tokens[i].text]; end == ")" || end == "]" {
		for i < len(p.tokens) && p.tokens[i].text != end {
			i++
		}
		i++
	}
	return i < len(p.tokens) && p.tokens[i].text == "=="
}

var prefixWords = []string{"UNCHANGED", "DOMAIN", "SUBSET", "UNION", "ENABLED"}

// isOperator reports whether something must follow. Names, numbers, strings, brackets, primes and @
// end an operand.
func isOperator(n node) bool {
	if len(n.parts) > 0 || n.close != "" {
		return false
	}
	c := n.text[0]
	return !(isNameByte(c) && !slices.Contains(prefixWords, n.text) || c == '"' || c == '\'' || c == '@')
}
