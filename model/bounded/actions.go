package bounded

import "fmt"

// An action is a name with the values that its arguments can have. It has a label for each
// combination of values; the labels are consecutive. Next uses their numbers.
type action struct {
	name  string
	first int   // the number of its first label
	sizes []int // how many values each argument has
}

// An actionTable has the labels of all actions of a module.
type actionTable struct{ labels []string }

// add adds an action.
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

// label is the number of the label whose arguments have these indices.
func (a *action) label(indices ...int) int {
	at := 0
	for i, index := range indices {
		if index >= a.sizes[i] {
			panic(fmt.Sprintf("bounded: argument %d of %s is not one of %d", i, a.name, a.sizes[i]))
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
