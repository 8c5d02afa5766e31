package fit

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// A Variable is what is searched: an environment variable, or {} in the command, or both.
type Variable struct {
	Name      string // of the environment variable; "": there is none
	Low, High int
}

// ParseVariable reads BATCH=1..512 or, without an environment variable, 1..512.
func ParseVariable(text string) (Variable, error) {
	var v Variable
	name, values, named := strings.Cut(text, "=")
	if !named {
		name, values = "", text
	}
	v.Name = name
	low, high, is := strings.Cut(values, "..")
	var errLow, errHigh error
	v.Low, errLow = strconv.Atoi(low)
	v.High, errHigh = strconv.Atoi(high)
	if !is || named && name == "" || errLow != nil || errHigh != nil || v.Low > v.High || v.Low < 0 {
		return Variable{}, fmt.Errorf("%q is not of the form BATCH=1..512", text)
	}
	return v, nil
}

// Command is a command in which each {} is the value. An error says that nothing takes the value.
func (v Variable) Command(command []string, value int) ([]string, error) {
	var with []string
	replaced := false
	for _, word := range command {
		replaced = replaced || strings.Contains(word, "{}")
		with = append(with, strings.ReplaceAll(word, "{}", strconv.Itoa(value)))
	}
	if v.Name == "" && !replaced {
		return nil, fmt.Errorf("the value goes nowhere: give --var NAME=%d..%d for an environment variable, or write {} in the command", v.Low, v.High)
	}
	return with, nil
}

// set sets the environment variable, which programs that this process starts get.
func (v Variable) set(value int) error {
	if v.Name == "" {
		return nil
	}
	return os.Setenv(v.Name, strconv.Itoa(value))
}
