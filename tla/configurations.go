package tla

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"gaugeblock/model/tlc"
)

// A Configuration is one thing to check: a module, and what it has other than the
// defaults.
type Configuration struct {
	Name   string `json:"name"`
	Module string `json:"module"` // the file is Module.tla
	Cfg    string `json:"cfg"`    // the file
	Expect string `json:"expect"` // "ok", or the property that does not hold
	Bounds string `json:"bounds"` // in words
	Size   string `json:"size"`   // "small": within a second or two; "large"
	Mirror string `json:"mirror"` // the specification in model/bounded; empty: none

	// Length is how many states the shortest counterexample has, if one is
	// expected.
	Length int `json:"length,omitempty"`
}

// Configurations lists all of them, as they stand in configurations.json.
func Configurations() ([]Configuration, error) {
	text, err := Files.ReadFile("configurations.json")
	if err != nil {
		return nil, err
	}
	var list []Configuration
	return list, decode("configurations.json", text, &list)
}

// Named are the configurations of a list with these names. unknown is the first name that none
// has, "" if there is no such.
func Named(list []Configuration, names []string) (chosen []Configuration, unknown string) {
	for _, name := range names {
		i := slices.IndexFunc(list, func(c Configuration) bool { return c.Name == name })
		if i < 0 {
			return nil, name
		}
		chosen = append(chosen, list[i])
	}
	return chosen, ""
}

// Config reads the configuration's file.
func (c Configuration) Config() (*tlc.Config, error) {
	text, err := Files.ReadFile(c.Cfg)
	if err != nil {
		return nil, err
	}
	return ReadConfig(text, c.Cfg)
}

// defaultsFile is the module with the constants.
const defaultsFile = "Defaults.tla"

// ReadConfig reads the text of a configuration file. The constants that it does not name
// have the values of Defaults.tla; a value for anything else is an error. Errors of
// syntax are of type *tlc.SyntaxError.
func ReadConfig(text []byte, file string) (*tlc.Config, error) {
	module, err := Files.ReadFile(defaultsFile)
	if err != nil {
		return nil, err
	}
	defaults, err := tlc.ReadDefaults(module, defaultsFile)
	if err != nil {
		return nil, err
	}
	c, err := tlc.ReadConfig(text, file)
	if err != nil {
		return nil, err
	}
	return c, c.SetDefaults(defaults)
}

// decode reads JSON and takes nothing that it does not know.
func decode(file string, text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("%s: something follows the end", file)
	}
	return nil
}
