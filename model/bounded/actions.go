package bounded

import "fmt"

// An action is a name and what its arguments can be: the labels of its steps are the
// name with all combinations, one behind the other. Next numbers them in the same
// way.
type action struct {
	name  string
	first int   // the number of its first label
	sizes []int // how many values each argument has
}

// A vocabulary is the actions of a specification.
type actionTable struct{ labels []string }

// add takes in an action.
func (v *actionTable) add(name string, arguments ...[]int) action {
	a := action{name: name, first: len(v.labels)}
	texts := []string{""}
	for _, values := range arguments {
		a.sizes = append(a.sizes, len(values))
		var longer []string
		for _, text := range texts {
			for _, value := range values {
				longer = append(longer, fmt.Sprintf("%s,%d", text, value))
			}
		}
		texts = longer
	}
	for _, text := range texts {
		if text != "" {
			text = "(" + text[1:] + ")"
		}
		v.labels = append(v.labels, name+text)
	}
	return a
}

// label is the number of the label with certain arguments, given by their indices.
func (a *action) label(indices ...int) int {
	at := 0
	for i, index := range indices {
		if index >= a.sizes[i] {
			panic(fmt.Sprintf("bounded: argument %d of %s is none of the %d that there are", i, a.name, a.sizes[i]))
		}
		at = at*a.sizes[i] + index
	}
	return a.first + at
}

// upTo lists 0..n-1.
func upTo(n uint64) (list []int) {
	for i := range n {
		list = append(list, int(i))
	}
	return list
}

func asInts[N ~uint64 | ~uintptr](numbers []N) (list []int) {
	for _, n := range numbers {
		list = append(list, int(n))
	}
	return list
}

// all lists the labels of the action.
func (a *action) all() (labels []int) {
	n := 1
	for _, size := range a.sizes {
		n *= size
	}
	for i := range n {
		labels = append(labels, a.first+i)
	}
	return labels
}
