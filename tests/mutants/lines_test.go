package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Mutants of C, C++ and Python are changes of one line, which are found by its text alone. What stands in
// comments and in texts is not changed, nor is the preprocessor's.

// lineChange finds the places of a line that a kind changes, and says what each becomes; "" if it stays.
type lineChange struct {
	kind string
	at   *regexp.Regexp
	with func(found []string, python bool) string
}

// other is the change of what a table has.
func other(table map[string]string) func([]string, bool) string {
	return func(found []string, _ bool) string { return table[found[0]] }
}

var lineChanges = []lineChange{
	{"compare", regexp.MustCompile(` (?:[<>]=?|[!=]=|&&|\|\||and|or|is not|is|not in|in) `), other(map[string]string{
		" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ", " && ": " || ", " || ": " && ",
		" and ": " or ", " or ": " and ", " is ": " is not ", " is not ": " is ", " not in ": " in ",
	})},
	{"arithmetic", regexp.MustCompile(` (?:[-+*/%&|]|<<|>>)=? |\+\+|--`), other(map[string]string{
		" + ": " - ", " - ": " + ", " * ": " / ", " / ": " * ", " % ": " * ", " & ": " | ", " | ": " & ", " << ": " >> ", " >> ": " << ",
		" += ": " -= ", " -= ": " += ", " |= ": " &= ", " &= ": " |= ", "++": "--", "--": "++",
	})},
	{"constant", regexp.MustCompile(`\b(?:\d+|[Tt]rue|[Ff]alse)\b`), func(found []string, _ bool) string {
		if n, err := strconv.Atoi(found[0]); err == nil {
			return strconv.Itoa(n + 1)
		}
		return map[string]string{"true": "false", "false": "true", "True": "False", "False": "True"}[found[0]]
	}},
	{"force", condition, func(found []string, python bool) string {
		if python {
			return found[1] + "(" + found[2] + ") or True" + found[3]
		}
		return found[1] + "(" + found[2] + " || 1)" + found[3]
	}},
	{"negate", condition, func(found []string, python bool) string {
		if python {
			return found[1] + "not (" + found[2] + ")" + found[3]
		}
		return found[1] + "(!" + found[2] + ")" + found[3]
	}},
	{"arguments", regexp.MustCompile(`(\w\()([\w.*&]+), ([\w.*&]+)([,)])`), func(found []string, _ bool) string {
		return found[1] + found[3] + ", " + found[2] + found[4]
	}},
	{"drop", statement, func(found []string, python bool) string {
		if python {
			return found[1] + "pass"
		}
		return found[1] + ";"
	}},
	{"result", regexp.MustCompile(`^(\s*return )([^;]+)(;?)$`), func(found []string, python bool) string {
		if python {
			return found[1] + "None"
		}
		return found[1] + "0;"
	}},
}

var (
	condition = regexp.MustCompile(`^(\s*(?:\} else )?(?:el)?if )(.+?)( \{|:| (?:return|continue|break)[^;]*;)$`)
	// definition is the line that a function begins with.
	definition = regexp.MustCompile(`^(?:\s*def |\w[^=;]*?\b)(\w+)\(`)
	// statement is a whole one that declares nothing: a call, or an assignment to what is there.
	statement = regexp.MustCompile(`^(\s+)(?:raise .*|[\w.\->\[\]*]+ [-+|&]?= .*|[\w.\->]+\(.*\))(;?)$`)
)

// findLines lists the mutants of the files of a folder that have the extension.
func findLines(root, dir, extension string, wanted func(kind string) bool) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(root, dir, "*"+extension))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name := dir + "/" + filepath.Base(file)
		all = append(all, lineMutants(name, string(source), wanted)...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no mutants", dir)
	}
	return all, nil
}

func lineMutants(file, source string, wanted func(kind string) bool) (found []mutant) {
	python := strings.HasSuffix(file, ".py")
	lines, codes := strings.SplitAfter(source, "\n"), strings.SplitAfter(code(source, python), "\n")
	start, function := 0, ""
	for i, line := range lines {
		shown := strings.TrimRight(codes[i], "\n\\ ")
		if begins := definition.FindStringSubmatch(shown); begins != nil {
			function = " " + begins[1]
		}
		for _, change := range lineChanges {
			if !wanted(change.kind) || !whole(shown) && change.at.String()[0] == '^' {
				continue
			}
			for _, at := range change.at.FindAllStringSubmatchIndex(shown, -1) {
				var pieces []string
				for j := 0; j < len(at); j += 2 {
					pieces = append(pieces, line[at[j]:at[j+1]])
				}
				with := change.with(pieces, python)
				if with == "" || with == pieces[0] {
					continue
				}
				found = append(found, mutant{
					kind: change.kind, file: file, line: i + 1, function: filepath.Base(file) + function,
					edits: []edit{{start + at[0], start + at[1], with}},
					text:  oneLine(pieces[0]) + " becomes " + oneLine(with) + " in " + oneLine(line),
				})
			}
		}
		start += len(line)
	}
	return found
}

// whole reports whether each bracket of a line closes in it, but a block's at its end.
func whole(line string) bool {
	line = strings.TrimSuffix(line, "{")
	return strings.Count(line, "(") == strings.Count(line, ")") && strings.Count(line, "[") == strings.Count(line, "]") &&
		strings.Count(line, "{") == strings.Count(strings.TrimPrefix(strings.TrimSpace(line), "}"), "}")
}

// aside is what is not code. A text has no line feed, but a Python one of three quotes.
var (
	asideC      = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`)
	asidePython = regexp.MustCompile(`(?s)""".*?"""|#[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`)
	directive   = regexp.MustCompile(`(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*`)
)

// code is a source with signs of one kind for its texts, and blanks for comments and directives.
func code(source string, python bool) string {
	hide := func(text string) string {
		with := " "
		if text[0] == '"' || text[0] == '\'' {
			with = "\""
		}
		return regexp.MustCompile(`[^\n]`).ReplaceAllString(text, with)
	}
	if python {
		return asidePython.ReplaceAllStringFunc(source, hide)
	}
	return directive.ReplaceAllStringFunc(asideC.ReplaceAllStringFunc(source, hide), hide)
}
