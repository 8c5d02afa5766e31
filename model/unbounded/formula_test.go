package unbounded

import (
	"fmt"
	"strings"
)

// A structure is a finite state: how many things there are of each sort, and the values of
// the functions. A relation's values are 0 and 1.
type structure struct {
	size   map[sort]int
	values map[string][]int // by name: a table with an entry for each combination of arguments
	kinds  map[string]function
}

// at is the entry of a function's table.
func (m *structure) at(f *function, arguments []int) int {
	i := 0
	for n, s := range f.arguments {
		i = i*m.size[s] + arguments[n]
	}
	return i
}

// add adds a function, with all its values 0.
func (m *structure) add(f function) {
	n := 1
	for _, s := range f.arguments {
		n *= m.size[s]
	}
	m.kinds[f.name], m.values[f.name] = f, make([]int, n)
}

// set makes a relation true, or gives a function a value.
func (m *structure) set(name string, value int, arguments ...int) {
	f := m.kinds[name]
	m.values[name][m.at(&f, arguments)] = value
}

// A term is a formula that can be evaluated with values for its variables.
type term func(variables []int) int

// compile reads a formula. names are the variables that are not bound in it.
func (m *structure) compile(text string, names ...string) term {
	text = strings.NewReplacer("(", " ( ", ")", " ) ").Replace(text)
	c := compiler{structure: m, words: strings.Fields(text), names: names}
	compiled := c.term()
	if len(c.words) > 0 {
		panic(fmt.Sprintf("unbounded: %v after a formula", c.words))
	}
	return compiled
}

type compiler struct {
	structure *structure
	words     []string
	names     []string // of variables, by index
}

func (c *compiler) next() string {
	word := c.words[0]
	c.words = c.words[1:]
	return word
}

// list reads terms up to the closing parenthesis.
func (c *compiler) list() (list []term) {
	for c.words[0] != ")" {
		list = append(list, c.term())
	}
	c.next()
	return list
}

func (c *compiler) term() term {
	word := c.next()
	if word != "(" {
		return c.name(word)
	}
	switch word = c.next(); word {
	case "forall", "exists":
		return c.quantifier(word == "exists")
	case "and", "or":
		all, short := c.list(), truth(word == "or")
		return func(v []int) int {
			for _, t := range all {
				if t(v) == short {
					return short
				}
			}
			return 1 - short
		}
	case "not":
		of := c.list()[0]
		return func(v []int) int { return 1 - of(v) }
	case "=>":
		all := c.list()
		return func(v []int) int { return max(1-all[0](v), all[1](v)) }
	case "=":
		all := c.list()
		return func(v []int) int { return truth(all[0](v) == all[1](v)) }
	case "ite":
		all := c.list()
		return func(v []int) int {
			if all[0](v) == 1 {
				return all[1](v)
			}
			return all[2](v)
		}
	}
	return c.application(word)
}

func truth(is bool) int {
	if is {
		return 1
	}
	return 0
}

// name is a variable or a function without arguments. The innermost variable counts.
func (c *compiler) name(word string) term {
	for i := len(c.names) - 1; i >= 0; i-- {
		if c.names[i] == word {
			return func(v []int) int { return v[i] }
		}
	}
	if _, known := c.structure.kinds[word]; !known {
		panic(fmt.Sprintf("unbounded: there is no %q", word))
	}
	values := c.structure.values[word]
	return func([]int) int { return values[0] }
}

func (c *compiler) application(word string) term {
	f, known := c.structure.kinds[word]
	arguments := c.list()
	if !known || len(arguments) != len(f.arguments) {
		panic(fmt.Sprintf("unbounded: there is no %q with %d arguments", word, len(arguments)))
	}
	values := c.structure.values[word]
	sizes := make([]int, len(arguments))
	for i, s := range f.arguments {
		sizes[i] = c.structure.size[s]
	}
	return func(v []int) int {
		at := 0
		for i, t := range arguments {
			at = at*sizes[i] + t(v)
		}
		return values[at]
	}
}

// quantifier reads "((u U) (h H)) formula)".
func (c *compiler) quantifier(exists bool) term {
	outer := len(c.names)
	var sizes []int
	for c.next(); c.next() == "("; c.next() {
		c.names = append(c.names, c.next())
		sizes = append(sizes, c.structure.size[sort(c.next())])
	}
	of := c.list()[0]
	c.names = c.names[:outer]
	wanted := truth(exists)
	var search func(v []int, sizes []int) int
	search = func(v []int, sizes []int) int {
		if len(sizes) == 0 {
			return of(v)
		}
		for x := range sizes[0] {
			if search(append(v, x), sizes[1:]) == wanted {
				return wanted
			}
		}
		return 1 - wanted
	}
	return func(v []int) int { return search(v[:outer:outer], sizes) }
}
