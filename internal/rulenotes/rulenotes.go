// Package rulenotes reads in the comments of upstream.Rules which accounts of the allocator do not
// read a rule, and why.
package rulenotes

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"

	"gaugeblock/internal/checkout"
)

// Accounts are those that read rules.
var Accounts = []string{"alloc", "model", "tla"}

// notIn is the sentence: "Not in model and tla: there is one device."
var notIn = regexp.MustCompile(`Not in ((?:alloc|model|tla|,| and| )+): ([^.]+)\.`)

// Reasons are why rules are not read, by account and field of upstream.Rules.
type Reasons map[string]map[string]string

// Read reads them in the checkout that the working directory is in.
func Read() (Reasons, error) {
	root, err := checkout.Root()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(root, "upstream", "rules.go")
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	rules, is := parsed.Scope.Lookup("Rules").Decl.(*ast.TypeSpec)
	if !is {
		return nil, fmt.Errorf("%s has no type Rules", file)
	}
	all := Reasons{}
	for _, account := range Accounts {
		all[account] = map[string]string{}
	}
	for _, field := range rules.Type.(*ast.StructType).Fields.List {
		text := strings.Join(strings.Fields(field.Doc.Text()), " ")
		sentences := notIn.FindAllStringSubmatch(text, -1)
		if len(sentences) != strings.Count(text, "Not in ") {
			return nil, fmt.Errorf("%s: %s: a sentence that begins with \"Not in\" names accounts, and a reason", file, field.Names[0])
		}
		for _, sentence := range sentences {
			for _, account := range Accounts {
				if strings.Contains(sentence[1], account) {
					all[account][field.Names[0].Name] = sentence[2]
				}
			}
		}
	}
	return all, nil
}
