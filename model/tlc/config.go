package tlc

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Config is what a configuration file says: which specification, with which
// constants, and what to check.
type Config struct {
	File          string
	Specification string
	Invariants    []string
	Properties    []string
	CheckDeadlock bool

	constants map[string]string // canonical values, and "<-NAME" for another operator
	lines     map[string]int    // where they are
	defaults  *Defaults         // of constants that are not named; nil if there are none
}

// sections are the keywords that begin a section. Others that TLC knows are refused,
// lest they be overlooked.
var sections = map[string]string{
	"SPECIFICATION": "SPECIFICATION",
	"CONSTANT":      "CONSTANTS", "CONSTANTS": "CONSTANTS",
	"INVARIANT": "INVARIANTS", "INVARIANTS": "INVARIANTS",
	"PROPERTY": "PROPERTIES", "PROPERTIES": "PROPERTIES",
	"CHECK_DEADLOCK": "CHECK_DEADLOCK",
}

var refused = []string{
	"INIT", "NEXT", "CONSTRAINT", "CONSTRAINTS", "ACTION_CONSTRAINT", "ACTION_CONSTRAINTS",
	"SYMMETRY", "VIEW", "ALIAS", "TYPE", "TYPE_CONSTRAINT", "POSTCONDITION", "_PERIODIC", "_RL_REWARD",
}

// ReadConfig reads a configuration file. Errors are of type *SyntaxError.
func ReadConfig(text []byte, file string) (*Config, error) {
	c := &Config{File: file, CheckDeadlock: true, constants: map[string]string{}, lines: map[string]int{}}
	section := ""
	for i, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, `\*`)
		words := strings.TrimSpace(line)
		for words != "" {
			first, rest, _ := strings.Cut(words, " ")
			if slices.Contains(refused, first) {
				return nil, c.fail(i+1, "%s is not supported", first)
			}
			if named, isSection := sections[first]; isSection {
				section, words = named, strings.TrimSpace(rest)
				continue
			}
			if err := c.entry(section, words, i+1); err != nil {
				return nil, err
			}
			break
		}
	}
	if c.Specification == "" {
		return nil, c.fail(1, "no SPECIFICATION")
	}
	return c, nil
}

func (c *Config) fail(line int, format string, args ...any) error {
	return &SyntaxError{c.File, line, fmt.Sprintf(format, args...)}
}

// entry reads a line, or what a line has after the keyword.
func (c *Config) entry(section, text string, line int) error {
	names := strings.Fields(text)
	switch section {
	case "CONSTANTS":
		return c.constant(text, line)
	case "INVARIANTS":
		c.Invariants = append(c.Invariants, names...)
	case "PROPERTIES":
		c.Properties = append(c.Properties, names...)
	case "SPECIFICATION":
		if c.Specification != "" || len(names) != 1 {
			return c.fail(line, "one specification, not more")
		}
		c.Specification = names[0]
	case "CHECK_DEADLOCK":
		if text != "TRUE" && text != "FALSE" {
			return c.fail(line, "TRUE or FALSE, not %q", text)
		}
		c.CheckDeadlock = text == "TRUE"
	default:
		return c.fail(line, "%q is in no section", text)
	}
	return nil
}

// constant reads "NAME = value" or "NAME <- OPERATOR".
func (c *Config) constant(text string, line int) error {
	name, value, found := strings.Cut(text, "=")
	if operator, override, isOverride := strings.Cut(text, "<-"); isOverride {
		name, value, found = operator, "<-"+strings.TrimSpace(override), true
	} else if found {
		canonical, err := Canonical(nil, []byte(value))
		if err != nil {
			return c.fail(line, "%v", err)
		}
		value = string(canonical)
	}
	name = strings.TrimSpace(name)
	if !found || name == "" || strings.ContainsAny(name, " \t") {
		return c.fail(line, "%q is not NAME = value", text)
	}
	if at, twice := c.lines[name]; twice {
		return c.fail(line, "%s stands in line %d already", name, at)
	}
	c.constants[name], c.lines[name] = value, line
	return nil
}

// Set gives a constant another value than the file does. Errors are of type *SyntaxError,
// without a line.
func (c *Config) Set(name, value string) error {
	canonical, err := Canonical(nil, []byte(value))
	if err != nil {
		return c.fail(0, "%s: %v", name, err)
	}
	if c.defaults != nil && c.defaults.values[name] == "" {
		return c.fail(0, "%s is not defined in %s", name, c.defaults.File)
	}
	c.constants[name] = string(canonical)
	return nil
}

// Names lists the constants to which the file gives values, and the operators that have
// others instead, by name. Those that have their defaults are not among them.
func (c *Config) Names() []string { return slices.Sorted(maps.Keys(c.constants)) }

// Value is the canonical text of a constant, or "<-NAME" for an operator.
func (c *Config) Value(name string) (string, error) {
	value, found := c.constants[name]
	if !found && c.defaults != nil {
		value, found = c.defaults.values[name]
	}
	if !found {
		return "", c.fail(1, "the constant %s is missing", name)
	}
	return value, nil
}

// failValue says what is wrong with the value of a constant, and where it is written.
func (c *Config) failValue(name, what string) error {
	if line, named := c.lines[name]; named {
		return c.fail(line, "%s %s", name, what)
	}
	return &SyntaxError{c.defaults.File, c.defaults.lines[name], name + " " + what}
}

// Number is the value of a constant that is a natural number.
func (c *Config) Number(name string) (uint64, error) {
	value, err := c.Value(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(value, 10, 32)
	if err != nil {
		return 0, c.failValue(name, "is not a number")
	}
	return n, nil
}

// Bool is the value of a constant that is TRUE or FALSE.
func (c *Config) Bool(name string) (bool, error) {
	value, err := c.Value(name)
	if err == nil && value != "TRUE" && value != "FALSE" {
		err = c.failValue(name, "is neither TRUE nor FALSE")
	}
	return value == "TRUE", err
}

// Numbers is the value of a constant that is a set of natural numbers, ascending.
func (c *Config) Numbers(name string) ([]uint64, error) {
	value, err := c.Value(name)
	if err != nil {
		return nil, err
	}
	inner, isSet := bytes.CutPrefix([]byte(value), []byte("{"))
	inner, closed := bytes.CutSuffix(inner, []byte("}"))
	var numbers []uint64
	for text := range strings.SplitSeq(string(inner), ",") {
		n, err := strconv.ParseUint(text, 10, 32)
		if text != "" && err != nil {
			isSet = false
		} else if text != "" {
			numbers = append(numbers, n)
		}
	}
	if !isSet || !closed {
		return nil, c.failValue(name, "is not a set of numbers")
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}
