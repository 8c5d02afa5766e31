package mutants

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A mutant is a mistake, made in the specification and in the model.
type mutant struct {
	name     string
	sentence string
	module   string // of TLA+, without MC: "Core"
	bounds   string // the constants that are not the default
	fails    string // the property that TLC finds broken; "" if the specification has nothing of it
	inModel  string // the property that the explorer finds broken
	states   int    // of TLC's counterexample
	inStates int    // of the explorer's
	alone    bool   // no other property of the model finds it

	onlyOthers bool // it is explored with all properties but inModel
	pieces     []piece
}

// A piece is a part of a file before and after.
type piece struct {
	file          string // relative to the root of the module
	before, after string
}

//go:embed testdata
var testdata embed.FS

// readAll reads the mutants, by name.
func readAll() (list []mutant, err error) {
	files, err := testdata.ReadDir("testdata")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := testdata.ReadFile("testdata/" + f.Name())
		if err != nil {
			return nil, err
		}
		m, err := read(strings.TrimSuffix(f.Name(), ".txt"), string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		list = append(list, m)
	}
	return list, nil
}

// read reads a mutant: the sentence, lines of "key: value", and sections that begin with a
// line "-- NAME --".
func read(name, text string) (m mutant, err error) {
	m.name = name
	head, rest, _ := strings.Cut(text, "\n-- ")
	m.sentence, head, _ = strings.Cut(head, "\n\n")
	keys := map[string]string{}
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		keys[key] = value
	}
	m.module, m.fails = keys["module"], keys["fails"]
	if m.states, err = strconv.Atoi(keys["states"]); err != nil && m.fails != "" {
		return m, fmt.Errorf("states: %w", err)
	}
	m.inModel, m.inStates, m.alone = m.fails, m.states, keys["alone"] == "yes"
	if keys["model"] != "" {
		if _, err = fmt.Sscan(keys["model"], &m.inModel, &m.inStates); err != nil {
			return m, fmt.Errorf("model: %w", err)
		}
	}
	for section := range strings.SplitSeq(rest, "\n-- ") {
		title, body, _ := strings.Cut(section+"\n", " --\n")
		if body != "" {
			body = strings.TrimSuffix(body, "\n") + "\n"
		}
		switch {
		case title == "bounds":
			m.bounds = body
		case title == "becomes" && len(m.pieces) > 0:
			m.pieces[len(m.pieces)-1].after = body
		case path.Ext(title) == ".go" || path.Ext(title) == ".tla":
			m.pieces = append(m.pieces, piece{file: title, before: body})
		default:
			return m, fmt.Errorf("there is no section %q", title)
		}
	}
	return m, m.validate()
}

func (m *mutant) validate() error {
	for _, dir := range []string{"tla/", "model/"} {
		if dir == "tla/" && m.fails == "" {
			continue
		}
		if !slices.ContainsFunc(m.pieces, func(p piece) bool { return strings.HasPrefix(p.file, dir) }) {
			return fmt.Errorf("nothing is changed in %s", dir)
		}
	}
	for _, p := range m.pieces {
		if strings.TrimSpace(p.before) == "" || p.before == p.after {
			return fmt.Errorf("%s: the piece is empty, or does not change", p.file)
		}
	}
	return nil
}

// apply replaces a piece in the text of its file, where it must be once.
func (p *piece) apply(text string) (string, error) {
	if n := strings.Count(text, p.before); n != 1 {
		return "", fmt.Errorf("%s has the piece %d times, not once:\n%s", p.file, n, p.before)
	}
	return strings.Replace(text, p.before, p.after, 1), nil
}
