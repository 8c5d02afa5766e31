package fakegpu

import "fmt"

// Enumerator is a schedule that takes every possible course, one after the other.
// A course is the list of the choices made in one run; the next one differs in the
// last choice that had an alternative left. So a program is run anew, on a new
// machine, until there is no other course:
//
//	var e fakegpu.Enumerator
//	for e.Next() {
//		g := fakegpu.New(fakegpu.Config{Schedule: &e})
//		...
//	}
//
// The number of courses grows very fast with the pieces of work and the calls
// between them: this is for programs of a few lines. The program must do the same
// thing in every run, as far as the device does.
type Enumerator struct {
	course []choice
	at     int // choices made in the present run
	begun  bool
}

// choice is one of some alternatives, counted from 0.
type choice struct{ picked, of int }

// Next begins a run, and reports whether there is one to begin.
func (e *Enumerator) Next() bool {
	if !e.begun {
		e.begun = true
		return true
	}
	last := e.at - 1
	for last >= 0 && e.course[last].picked+1 == e.course[last].of {
		last--
	}
	e.course, e.at = e.course[:last+1], 0
	if last < 0 {
		return false
	}
	e.course[last].picked++
	return true
}

// Pick implements Schedule. It panics if the program takes another course than
// before although the device has not.
func (e *Enumerator) Pick(ready int, waiting bool) int {
	of := ready
	if !waiting {
		of++
	}
	if e.at == len(e.course) {
		e.course = append(e.course, choice{0, of})
	}
	c := e.course[e.at]
	if c.of != of {
		panic(fmt.Sprintf("fakegpu: choice %d was one of %d, and is one of %d now: the program does not repeat itself", e.at, c.of, of))
	}
	e.at++
	return c.picked
}
