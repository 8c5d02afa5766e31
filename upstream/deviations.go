package upstream

import (
	"slices"
	"strings"
)

// A Deviation is a place where the reference differs from PyTorch on purpose, or a weakness of
// PyTorch that the reference has too. Code, tests and specifications name it by its ID.
type Deviation struct {
	// ID is the area and a name: "misuse/begin-twice". It does not change when the words do.
	ID string
	// From and Until are the first and the last release that have it. From "": it was not
	// looked for before 2.11, or the oldest release has it. Until "": the newest has it.
	From, Until string
	// Upstream is what PyTorch does, Ours what the reference does; "" if it does the same.
	Upstream, Ours string
	// Later is what releases after 2.11 do otherwise without mending it.
	Later string
	// Held are the tests that hold what the reference does: "package.Test", or the path of a
	// transcript. Shown are those that show on PyTorch's own libraries what PyTorch does.
	Held, Shown []string
	// Findings are the numbers of Findings that come of it; Issues those of issues and pull
	// requests of pytorch/pytorch.
	Findings, Issues []int
}

// Area is the first word of the ID.
func (d *Deviation) Area() string {
	area, _, _ := strings.Cut(d.ID, "/")
	return area
}

// Kept reports whether the reference does the same.
func (d *Deviation) Kept() bool { return d.Ours == "" }

// Summary is the first sentence of what PyTorch does.
func (d *Deviation) Summary() string {
	first, _, _ := strings.Cut(d.Upstream, ". ")
	return strings.TrimSuffix(first, ".")
}

// Deviations are all of them, by area.
func Deviations() []Deviation { return slices.Clone(deviations) }

// FindDeviation is the one with that ID; nil if there is none.
func FindDeviation(id string) *Deviation {
	for i := range deviations {
		if deviations[i].ID == id {
			return &deviations[i]
		}
	}
	return nil
}
