// Command run runs the zoo: "make zoo". It prints a row for each bug, in the columns of
// tools/zoo/README.md, and the smallest programs. The exit status is 1 if a bug that is to be found
// is not, or if something is found in a fix.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"gaugeblock/tools/foreign"
	"gaugeblock/tools/zoo"
)

func main() {
	flags := foreign.NewFlags("bugs")
	fixes := flag.Int("fixes", 0, "look at the fixes alone, for this number of operations each")
	flag.Parse()
	good, err := run(flags, *fixes)
	if err != nil {
		fmt.Fprintln(os.Stderr, "zoo:", err)
	}
	if err != nil || !good {
		os.Exit(1)
	}
}

func run(flags foreign.Flags, fixes int) (good bool, err error) {
	w, match, recipes, err := flags.Open()
	if err != nil {
		return false, err
	}
	bugs, err := zoo.Bugs()
	if err != nil {
		return false, err
	}
	if fixes == 0 {
		fmt.Println("| bug | before | found | by the rule | after operations | fix | clean |\n|---|---|---|---|---|---|---|")
	}
	good = true
	var programs strings.Builder
	for _, b := range bugs {
		if !match.MatchString(b.Name) {
			continue
		}
		var row string
		var well bool
		if fixes > 0 {
			row, well, err = lookLong(b, recipes, w, fixes)
		} else {
			row, well, err = look(b, recipes, w, &programs)
		}
		if errors.Is(err, foreign.ErrMissing) {
			fmt.Fprintln(os.Stderr, "skipped:", err)
			continue
		}
		if err != nil {
			return false, err
		}
		if row != "" {
			fmt.Println(row)
		}
		good = good && well
	}
	_, err = fmt.Print(programs.String())
	return good, err
}

// look builds what a bug needs, and looks for it.
func look(b zoo.Bug, recipes []foreign.Recipe, w *foreign.Workshop, programs *strings.Builder) (row string, good bool, err error) {
	list, err := b.Recipes(recipes)
	if err != nil {
		return "", false, err
	}
	if err := prepare(b, list, w); err != nil {
		return "", false, err
	}
	var all [][]zoo.Finding
	for _, r := range list {
		findings, err := b.Look(r, w.To, 1, b.Seeds)
		if err != nil {
			return "", false, err
		}
		all = append(all, findings)
	}
	found, fewest, median, most := zoo.Count(all[0], b.Rules)
	row = fmt.Sprintf("| %s | %s | %d of %d | %s | %d (%d to %d) |", b.Name, list[0].Commit, found, b.Seeds, strings.Join(b.Rules, ", "), median, fewest, most)
	good = found == b.Seeds
	if len(list) == 1 {
		row += " none yet | |"
	} else {
		fix := list[1].Commit
		if fix == list[0].Commit {
			fix += ", changed"
		}
		wrong, _, _, _ := zoo.Count(all[1], nil)
		good = good && wrong == 0
		row += fmt.Sprintf(" %s | %d of %d |", fix, b.Seeds-wrong, b.Seeds)
	}
	for _, f := range all[0] {
		if len(f.Smallest) > 0 {
			fmt.Fprintf(programs, "\n%s (seed %d): %s: %s\n\t%s\n", b.Name, f.Seed, f.Found, f.Text, strings.Join(f.Smallest, "\n\t"))
		}
	}
	return row, good, nil
}

// lookLong looks for false alarms: what is found in a fix, in at least this number of operations.
func lookLong(b zoo.Bug, recipes []foreign.Recipe, w *foreign.Workshop, operations int) (row string, good bool, err error) {
	list, err := b.Recipes(recipes)
	if err != nil || len(list) < 2 {
		return "", err == nil, err
	}
	if err := prepare(b, list[1:], w); err != nil {
		return "", false, err
	}
	seeds := (operations + b.Operations - 1) / b.Operations
	findings, err := b.Look(list[1], w.To, 1, seeds)
	if err != nil {
		return "", false, err
	}
	wrong, _, _, _ := zoo.Count(findings, nil)
	row = fmt.Sprintf("%s: %s: %d operations, %d of %d programs find something", b.Name, list[1].Name, seeds*b.Operations, wrong, seeds)
	for _, f := range findings {
		if f.Found != "" {
			row += fmt.Sprintf("\n\tseed %d: %s: %s\n\t%s", f.Seed, f.Found, f.Text, strings.Join(f.Smallest, "\n\t"))
		}
	}
	return row, wrong == 0, nil
}

// prepare builds recipes, and the bug's program.
func prepare(b zoo.Bug, list []foreign.Recipe, w *foreign.Workshop) error {
	for _, r := range list {
		if _, err := w.Build(r); err != nil {
			return err
		}
	}
	if program := b.Program(); program != "" {
		return w.Program(program)
	}
	return nil
}
