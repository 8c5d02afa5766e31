package main

import (
	"fmt"
	"regexp"
	"strings"
)

// module is what the packages of the list lie in.
const module = "gaugeblock/"

// entry is a line of the list.
type entry struct {
	short   bool // only with -short
	pkg     string
	test    *regexp.Regexp
	says    string
	reason  string
	matched int
}

// readList reads the list of expected skips. Every line has all of its columns.
func readList(text string) (list []*entry, err error) {
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		columns := strings.Split(line, "|")
		for j := range columns {
			columns[j] = strings.TrimSpace(columns[j])
		}
		const when, pkg, test, says, reason = 0, 1, 2, 3, 4
		if len(columns) != reason+1 || columns[says] == "" || columns[reason] == "" ||
			columns[when] != "any" && columns[when] != "short" {
			return nil, fmt.Errorf("line %d: not any or short, a package, a test, what it says, and a reason", i+1)
		}
		name, err := regexp.Compile("^(?:" + columns[test] + ")$")
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		list = append(list, &entry{
			short: columns[when] == "short", pkg: module + columns[pkg], test: name, says: columns[says], reason: columns[reason],
		})
	}
	return list, nil
}

// expects reports whether a skip is on the list.
func expects(list []*entry, short bool, pkg, test, says string) bool {
	for _, e := range list {
		if e.pkg == pkg && (short || !e.short) && e.test.MatchString(test) && strings.Contains(says, e.says) {
			e.matched++
			return true
		}
	}
	return false
}
