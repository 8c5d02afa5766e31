package unbounded

import (
	"fmt"
	"strings"
)

// later is appended to the names of relations that are about the state after a move.
const later = "-later"

// An Obligation is what a solver is asked. It holds if the formulas of the query cannot all
// be true.
type Obligation struct {
	Name  string // "Malloc keeps WorkIsAwaited"
	Query string // SMT-LIB
}

// Obligations lists what is to be proved: the initial state satisfies every lemma, each move
// keeps each of them and obeys its rule, and the goals follow.
func Obligations(moves []move, lemmas []property) (list []Obligation) {
	for _, p := range lemmas {
		list = append(list, Obligation{"the initial state satisfies " + p.name, initialSatisfies(p)})
	}
	for _, m := range moves {
		for _, p := range lemmas {
			list = append(list, Obligation{m.name + " keeps " + p.name, m.keeps(p, lemmas)})
		}
		if rule, has := rules[m.name]; has {
			list = append(list, Obligation{m.name + " obeys " + rule.name, m.obeys(rule, lemmas)})
		}
	}
	for _, p := range goals {
		list = append(list, Obligation{p.name + " follows", follows(p, lemmas)})
	}
	return list
}

func initialSatisfies(p property) string {
	var q query
	q.declare(state)
	for _, f := range state {
		q.assert(forAll(f, fmt.Sprintf("(not %s)", f.of(variables))))
	}
	q.assert("(not " + p.formula + ")")
	return q.end()
}

// keeps asks for a state in which all of some properties are true, and a move after which one
// is not.
func (m *move) keeps(p property, assumed []property) string {
	var q query
	q.declare(state)
	for _, a := range assumed {
		q.assert(a.formula)
	}
	q.declare(m.parameters)
	q.assert(m.guard)
	for _, f := range state {
		if value, changes := m.after[f.name]; changes {
			next := f
			next.name += later
			q.declare([]function{next})
			q.assert(forAll(f, fmt.Sprintf("(= %s %s)", next.of(variables), value)))
		}
	}
	q.assert("(not " + m.primed(p.formula) + ")")
	return q.end()
}

// obeys asks for a state in which all of some properties are true, and a move that breaks a
// rule.
func (m *move) obeys(rule property, assumed []property) string {
	var q query
	q.declare(state)
	q.declare(m.parameters)
	for _, a := range assumed {
		q.assert(a.formula)
	}
	q.assert(m.guard)
	q.assert("(not " + rule.formula + ")")
	return q.end()
}

// primed is a formula about the state after the move.
func (m *move) primed(formula string) string {
	for name := range m.after {
		formula = strings.ReplaceAll(formula, "("+name+" ", "("+name+later+" ")
	}
	return formula
}

func follows(p property, lemmas []property) string {
	var q query
	q.declare(state)
	for _, l := range lemmas {
		q.assert(l.formula)
	}
	q.assert("(not " + p.formula + ")")
	return q.end()
}

// of is the function applied to variables of its sorts.
func (f *function) of(names map[sort]string) string {
	text := f.name
	for _, s := range f.arguments {
		text += " " + names[s]
	}
	if len(f.arguments) == 0 {
		return text
	}
	return "(" + text + ")"
}

// forAll quantifies over the variables of a function's arguments.
func forAll(f function, formula string) string {
	text := ""
	for _, s := range f.arguments {
		text += fmt.Sprintf("(%s %s)", variables[s], s)
	}
	return fmt.Sprintf("(forall (%s) %s)", text, formula)
}

// query is the text of an obligation.
type query struct{ text strings.Builder }

func (q *query) declare(functions []function) {
	if q.text.Len() == 0 {
		for _, s := range []sort{unit, stream, allocation, piece, event} {
			fmt.Fprintf(&q.text, "(declare-sort %s 0)\n", s)
		}
		q.declare(rigid)
	}
	for _, f := range functions {
		value, arguments := string(f.value), ""
		if value == "" {
			value = "Bool"
		}
		for _, s := range f.arguments {
			arguments += " " + string(s)
		}
		fmt.Fprintf(&q.text, "(declare-fun %s (%s) %s)\n", f.name, strings.TrimSpace(arguments), value)
	}
}

func (q *query) assert(formula string) { fmt.Fprintf(&q.text, "(assert %s)\n", formula) }

func (q *query) end() string { return q.text.String() + "(check-sat)\n" }
