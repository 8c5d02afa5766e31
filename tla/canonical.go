package tla

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"gaugeblock/model/tlc"
)

// The canonical form of a configuration is what TLC's result depends on, and nothing else: the
// definitions that are reached from what it checks, without comments and layout, with what its
// constants decide already decided; the values of the constants that are left; and what is
// checked. So another constant changes no form of a configuration that has it at a default at
// which nothing changes: "IF NewRule THEN x ELSE y" is y where NewRule is FALSE.

// A unit is a definition, a declaration or an assumption: all from a token in the first column
// up to the next.
type unit struct {
	module, name string
	body         []expr // behind ==, or all
}

// modules are the units of a module and of all that it extends or instantiates, by name.
type modules struct {
	read    func(file string) ([]byte, error)
	units   map[string][]unit
	reached map[string]bool
}

// add reads a module of the specification; TLA+'s own modules have no file.
func (m *modules) add(name string) error {
	if m.reached[name] {
		return nil
	}
	m.reached[name] = true
	text, err := m.read(name + ".tla")
	if err != nil {
		return nil // Integers, Sequences ...
	}
	all, err := tokens(string(text))
	if err != nil {
		return fmt.Errorf("%s.tla: %w", name, err)
	}
	for u := range unitsOf(all) {
		if err := m.addUnit(name, u); err != nil {
			return err
		}
	}
	return nil
}

// unitsOf are the units of a module: each begins with a name in the first column.
func unitsOf(all []token) iter.Seq[[]token] {
	return func(yield func([]token) bool) {
		for len(all) > 0 {
			n := 1
			for n < len(all) && !(all[n].col == 1 && isNameByte(all[n].text[0])) {
				n++
			}
			if !yield(all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}

func (m *modules) addUnit(module string, all []token) error {
	for i, t := range all {
		if all[0].text == "EXTENDS" && i > 0 && t.text != "," || i > 0 && all[i-1].text == "INSTANCE" {
			if err := m.add(t.text); err != nil {
				return err
			}
		}
	}
	u := unit{module: module, name: all[0].text}
	switch u.name {
	case "EXTENDS", "RECURSIVE", "INSTANCE":
		return nil
	case "ASSUME":
		if module+".tla" == defaultsFile {
			return nil // that TLC began says that it holds
		}
	}
	u.body = (&parser{tokens: all}).units()
	m.units[u.name] = append(m.units[u.name], u)
	return nil
}

// units reads all of a unit.
func (p *parser) units() []expr { return p.separated(0, "") }

// Canonical is the canonical form of a configuration. read returns the text of a file.
func Canonical(c Configuration, read func(file string) ([]byte, error)) (string, error) {
	text, err := read(c.Cfg)
	if err != nil {
		return "", err
	}
	cfg, err := tlc.ReadConfig(text, c.Cfg)
	if err != nil {
		return "", err
	}
	m := &modules{read: read, units: map[string][]unit{}, reached: map[string]bool{}}
	if err := m.add(c.Module); err != nil {
		return "", err
	}
	module, err := read(defaultsFile)
	if err != nil {
		return "", err
	}
	defaults, err := tlc.ReadDefaults(module, defaultsFile)
	if err != nil {
		return "", err
	}
	if err := cfg.SetDefaults(defaults); err != nil {
		return "", err
	}
	f := &form{modules: m, constants: map[string]string{}, written: map[string]bool{}}
	for _, name := range slices.Concat(defaults.Names(), cfg.Names()) {
		if f.constants[name], err = cfg.Value(name); err != nil {
			return "", err
		}
	}
	f.line("CHECK_DEADLOCK %v", cfg.CheckDeadlock)
	f.line("INVARIANTS %v", cfg.Invariants)
	f.line("PROPERTIES %v", cfg.Properties)
	f.line("SPECIFICATION %s", cfg.Specification)
	f.reach(slices.Concat([]string{"VARIABLE", "VARIABLES", "CONSTANT", "CONSTANTS", "ASSUME"},
		cfg.Invariants, cfg.Properties, []string{cfg.Specification}))
	slices.Sort(f.lines)
	return strings.Join(f.lines, "\n") + "\n", nil
}

// form is a canonical form in the making.
type form struct {
	modules   *modules
	constants map[string]string // canonical values; "<-NAME"
	written   map[string]bool   // names
	lines     []string
}

func (f *form) line(format string, args ...any) {
	f.lines = append(f.lines, fmt.Sprintf(format, args...))
}

// reach writes the definitions of names, and of all names that they have.
func (f *form) reach(names []string) {
	for _, name := range names {
		if f.written[name] {
			continue
		}
		f.written[name] = true
		if value, isConstant := f.constants[name]; isConstant {
			f.line("%s == %s", name, value)
			f.reach([]string{strings.TrimPrefix(value, "<-")})
			continue
		}
		for _, u := range f.modules.units[name] {
			var out []string
			for _, e := range u.body {
				out = f.simplify(e).write(out)
			}
			f.line("%s: %s", path.Base(u.module), strings.Join(out, " "))
			f.reach(slices.DeleteFunc(out, func(t string) bool { return f.modules.units[t] == nil && f.constants[t] == "" }))
		}
	}
}

// write appends the tokens of an expression, with brackets around lists.
func (e expr) write(out []string) []string {
	for _, n := range e {
		out = append(out, n.text)
		if len(n.parts) == 0 && n.close == "" {
			continue
		}
		for _, part := range n.parts {
			out = part.write(append(out, "{|"))
			out = append(out, "|}")
		}
		out = append(out, n.close)
	}
	return out
}

// simplify decides what the constants decide.
func (f *form) simplify(e expr) expr {
	var out expr
	for _, n := range e {
		n.parts = slices.Clone(n.parts)
		for i, part := range n.parts {
			n.parts[i] = f.simplify(part)
		}
		switch n.text {
		case "IF":
			if decided, known := f.truth(n.parts[0]); known && decided {
				out = append(out, placed(n.parts[1], len(e) == 1)...)
			} else if known {
				out = append(out, placed(n.parts[2], len(e) == 1)...)
			} else {
				out = append(out, n)
			}
		case `/\`, `\/`:
			if len(n.parts) == 0 { // between two operands
				out = append(out, n)
			} else {
				out = append(out, placed(f.joined(n), len(e) == 1)...)
			}
		default:
			out = append(out, n)
		}
	}
	return f.infix(out)
}

// placed is an expression in the place of one node: in brackets, unless it is alone or an operand.
func placed(e expr, alone bool) expr {
	operand := len(e) == 1 || len(e) == 2 && e[1].text == "("
	if alone || operand {
		return e
	}
	return expr{{text: "(", close: ")", parts: []expr{e}}}
}

// joined is a list without the items that decide nothing; the item that decides all, if one does.
func (f *form) joined(n node) expr {
	all := n.text == `/\`
	var left []expr
	for _, item := range n.parts {
		decided, known := f.truth(item)
		switch {
		case known && decided != all:
			return expr{{text: truths[decided]}}
		case !known:
			left = append(left, item)
		}
	}
	switch len(left) {
	case 0:
		return expr{{text: truths[all]}}
	case 1:
		return left[0]
	}
	n.parts = left
	return expr{n}
}

var truths = map[bool]string{true: "TRUE", false: "FALSE"}

// infix does the same for operands with an operator between them.
func (f *form) infix(e expr) expr {
	if i := slices.IndexFunc(e, func(n node) bool { return n.text == "=>" }); i > 0 {
		if decided, known := f.truth(e[:i]); known && decided {
			return f.infix(e[i+1:])
		} else if known {
			return expr{{text: "TRUE"}}
		}
		return e
	}
	for _, op := range []string{`/\`, `\/`} {
		n := node{text: op}
		begin := 0
		for i, at := range e {
			if at.text == op && len(at.parts) == 0 {
				n.parts, begin = append(n.parts, e[begin:i]), i+1
			}
		}
		if begin == 0 || slices.ContainsFunc(e, func(n node) bool { return n.text == "<=>" || n.text == "~>" }) {
			continue
		}
		n.parts = append(n.parts, e[begin:])
		left := f.joined(n)
		if len(left) != 1 || left[0].text != op {
			return left
		}
		var out expr
		for i, part := range left[0].parts {
			if i > 0 {
				out = append(out, node{text: op})
			}
			out = append(out, part...)
		}
		return out
	}
	return e
}

// truth is the value of a condition of constants alone.
func (f *form) truth(e expr) (value, known bool) {
	switch {
	case len(e) == 1 && e[0].text == "(" && len(e[0].parts) == 1:
		return f.truth(e[0].parts[0])
	case len(e) == 1 && e[0].text == `\E` && isOfNothing(e[0].parts[0]):
		return false, true
	case len(e) == 1:
		text, _ := f.literal(e[0])
		return text == "TRUE", text == "TRUE" || text == "FALSE"
	case len(e) > 1 && e[0].text == "~":
		value, known = f.truth(e[1:])
		return !value, known
	case len(e) == 4 && e[0].text == "Cardinality" && e[2].text == ">" && e[3].text == "1":
		set, isConstant := f.constants[e[1].parts[0][0].text]
		return strings.Contains(set, ","), isConstant
	case len(e) == 3:
		left, isLeft := f.literal(e[0])
		right, isRight := f.literal(e[2])
		if known = isLeft && isRight; known && slices.Contains([]string{"=", "#", "/="}, e[1].text) {
			return (left == right) == (e[1].text == "="), true
		}
	}
	return false, false
}

// isOfNothing reports whether the bound of a quantifier is x \in {}.
func isOfNothing(bound expr) bool {
	return len(bound) == 3 && isEmptySet(bound[2])
}

// isEmptySet reports whether an operand is {}.
func isEmptySet(n node) bool {
	return n.text == "{" && !slices.ContainsFunc(n.parts, func(e expr) bool { return len(e) > 0 })
}

// literal is the text of a number, a string, a truth value or {}, or of a constant that is one or a set.
func (f *form) literal(n node) (text string, known bool) {
	if isEmptySet(n) {
		return "{}", true
	}
	if len(n.parts) > 0 || n.close != "" {
		return "", false
	}
	text = n.text
	if value, isConstant := f.constants[text]; isConstant {
		text = value
	}
	c := text[0]
	return text, c == '"' || c == '{' || '0' <= c && c <= '9' || text == "TRUE" || text == "FALSE"
}

// Reader reads the files of the specification, those of upstream's mode first if asked for.
func Reader(upstream bool) func(file string) ([]byte, error) {
	return func(file string) ([]byte, error) {
		if text, err := UpstreamFiles.ReadFile("upstream/" + file); upstream && err == nil {
			return text, nil
		}
		return Files.ReadFile(file)
	}
}
