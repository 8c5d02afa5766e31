package tlc

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Defaults are the values of the constants that a configuration does not name.
type Defaults struct {
	File string

	values map[string]string // canonical
	lines  map[string]int    // where they are defined
}

var (
	blockComment = regexp.MustCompile(`(?s)\(\*.*?\*\)`)
	definition   = regexp.MustCompile(`^(\w+) == (.*)$`)
	frame        = regexp.MustCompile(`^(-{4,} MODULE \w+ -{4,}|={4,}|EXTENDS .*)$`)
)

// ReadDefaults reads a module that defines constants, each in a line "NAME == value".
// Beside these it may have EXTENDS, comments, and ASSUME with indented lines, which are
// TLC's to check. Errors are of type *SyntaxError.
func ReadDefaults(text []byte, file string) (*Defaults, error) {
	d := &Defaults{File: file, values: map[string]string{}, lines: map[string]int{}}
	plain := blockComment.ReplaceAllStringFunc(string(text), func(comment string) string {
		return strings.Repeat("\n", strings.Count(comment, "\n")) // lines keep their numbers
	})
	inAssume := false
	for i, line := range strings.Split(plain, "\n") {
		line, _, _ = strings.Cut(line, `\*`)
		line = strings.TrimRight(line, " ")
		inAssume = line == "ASSUME" || inAssume && strings.HasPrefix(line, " ")
		if line == "" || inAssume || frame.MatchString(line) {
			continue
		}
		if err := d.define(line, i+1); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// define reads "NAME == value".
func (d *Defaults) define(text string, line int) error {
	parts := definition.FindStringSubmatch(text)
	if parts == nil {
		return &SyntaxError{d.File, line, fmt.Sprintf("%q is not NAME == value", text)}
	}
	name := parts[1]
	value, err := Canonical(nil, []byte(parts[2]))
	if err != nil {
		return &SyntaxError{d.File, line, err.Error()}
	}
	if at, twice := d.lines[name]; twice {
		return &SyntaxError{d.File, line, fmt.Sprintf("%s is defined in line %d already", name, at)}
	}
	d.values[name], d.lines[name] = string(value), line
	return nil
}

// Names lists the constants, by name.
func (d *Defaults) Names() []string { return slices.Sorted(maps.Keys(d.values)) }

// Value is the canonical text of a default; empty if the constant is not defined.
func (d *Defaults) Value(name string) string { return d.values[name] }

// SetDefaults gives the constants that the configuration does not name their defaults.
// It refuses a configuration that gives a value to anything else: TLC ignores such a
// value. Errors are of type *SyntaxError.
func (c *Config) SetDefaults(d *Defaults) error {
	for _, name := range c.Names() {
		_, known := d.values[name]
		if !known && !strings.HasPrefix(c.constants[name], "<-") {
			return c.fail(c.lines[name], "%s is not defined in %s", name, d.File)
		}
	}
	c.defaults = d
	return nil
}
