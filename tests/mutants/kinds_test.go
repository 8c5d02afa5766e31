package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gaugeblock/internal/rewrite"
)

// A mutant is a small change of one file.
type mutant struct {
	kind     string
	file     string // relative to the root of the module
	line     int
	function string
	edits    []edit // in order of position, apart from each other
	text     string // what is changed, in one line
	in       *function
}

// edit replaces the bytes from start to end of the file.
type edit struct {
	start, end int
	with       string
}

func (m *mutant) rewritten() *rewrite.Edits {
	e := &rewrite.Edits{}
	for _, x := range m.edits {
		e.Replace(x.start, x.end, x.with)
	}
	return e
}

// apply returns the changed file.
func (m *mutant) apply(source string) string { return m.rewritten().Apply(source, 0, len(source)) }

// name tells a mutant from others wherever its function stands: the folder and the function, the
// kind and the text.
func (m *mutant) name() string {
	return path.Dir(m.file) + " " + m.function + "\t" + m.kind + ": " + m.text
}

// kind is a kind of mutants, with what it changes.
type kind struct {
	name, what string
	find       func(*finder, ast.Node)
}

var kinds = []kind{
	{"compare", "a comparison: < is <=, == is !=, and so on", (*finder).comparison},
	{"arithmetic", "an operation with numbers: + is -, and so on", (*finder).arithmetic},
	{"negate", "the condition of an if or a for", (*finder).negation},
	{"half", "one half of a condition: a && b is a, or b", (*finder).half},
	{"force", "the condition of an if is true, or false; that of a for is false", (*finder).force},
	{"constant", "a number is one more; true is false", (*finder).constant},
	{"bound", "a number, or a bound of a slice, is one less", (*finder).bound},
	{"arguments", "two arguments of a call change places", (*finder).arguments},
	{"once", "a loop ends after its first round", (*finder).once},
	{"drop", "a statement is left out", (*finder).drop},
	{"swap", "two statements change places", (*finder).swap},
	{"wrap", "an error is lost: %w is %v, errors.Join(a, b) is a, a returned error is nil", (*finder).wrap},
	{"lock", "a Lock and its Unlock are left out", (*finder).lock},
}

// finder finds the mutants of a file.
type finder struct {
	file     string
	source   []byte
	files    *token.FileSet
	function string
	in       *function
	kind     string
	beside   map[ast.Node]bool // what is returned beside an error
	found    []mutant
}

// findAll lists the mutants of a folder, in the order of files and positions.
func findAll(root, dir string, wanted []string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		found, err := findIn(root, file, wanted)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no mutants", dir)
	}
	return all, nil
}

func findIn(root, file string, wanted []string) ([]mutant, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	relative, err := filepath.Rel(root, file)
	if err != nil {
		return nil, err
	}
	f := &finder{file: filepath.ToSlash(relative), source: source, files: token.NewFileSet(), beside: map[ast.Node]bool{}}
	tree, err := parser.ParseFile(f.files, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, declaration := range tree.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		f.function, f.in = rewrite.FunctionName(function), f.newFunction(tree.Name.Name, function)
		for _, kind := range kinds {
			if len(wanted) > 0 && !slices.Contains(wanted, kind.name) {
				continue
			}
			f.kind = kind.name
			ast.Inspect(function.Body, func(n ast.Node) bool {
				if n != nil && !isPanic(n) {
					kind.find(f, n)
				}
				return n == nil || !isPanic(n)
			})
		}
	}
	return f.found, nil
}

// isPanic reports whether a statement panics: those say that something is impossible.
func isPanic(n ast.Node) bool {
	s, ok := n.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := s.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == "panic"
}

func (f *finder) offset(p token.Pos) int { return f.files.Position(p).Offset }

func (f *finder) piece(n ast.Node) string {
	return string(f.source[f.offset(n.Pos()):f.offset(n.End())])
}

// replace adds a mutant that replaces a node's text, or the text between two positions.
func (f *finder) replace(n ast.Node, from, to token.Pos, with string) {
	e := edit{f.offset(from), f.offset(to), with}
	f.add(n, oneLine(string(f.source[e.start:e.end]))+" becomes "+oneLine(with)+" in "+oneLine(f.piece(n)), e)
}

func (f *finder) add(n ast.Node, text string, edits ...edit) {
	f.found = append(f.found, mutant{f.kind, f.file, f.files.Position(n.Pos()).Line, f.function, edits, text, f.in})
}

// brief is a statement in one line, of an if or a loop what stands before its block.
func (f *finder) brief(s ast.Stmt) string {
	var body *ast.BlockStmt
	switch s := s.(type) {
	case *ast.IfStmt:
		body = s.Body
	case *ast.ForStmt:
		body = s.Body
	case *ast.RangeStmt:
		body = s.Body
	default:
		return oneLine(f.piece(s))
	}
	return oneLine(string(f.source[f.offset(s.Pos()):f.offset(body.Lbrace)]))
}

// oneLine is a piece of source in one line, not too long.
func oneLine(piece string) string {
	piece = strings.Join(strings.Fields(piece), " ")
	if r := []rune(piece); len(r) > 90 {
		piece = string(r[:90]) + "..."
	}
	return piece
}

var comparisons = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.EQL: "!=", token.NEQ: "==", token.LAND: "||", token.LOR: "&&",
}

func (f *finder) comparison(n ast.Node) {
	if b, ok := n.(*ast.BinaryExpr); ok && comparisons[b.Op] != "" {
		f.replace(b, b.OpPos, b.OpPos+token.Pos(len(b.Op.String())), comparisons[b.Op])
	}
}

var operations = map[token.Token]string{
	token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*", token.REM: "*",
	token.SHL: ">>", token.SHR: "<<", token.AND: "|", token.OR: "&",
	token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=", token.INC: "--", token.DEC: "++",
}

func (f *finder) arithmetic(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if with := operations[n.Op]; with != "" {
			f.replace(n, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), with)
		}
	case *ast.AssignStmt:
		if with := operations[n.Tok]; with != "" {
			f.replace(n, n.TokPos, n.TokPos+token.Pos(len(n.Tok.String())), with)
		}
	case *ast.IncDecStmt:
		f.replace(n, n.TokPos, n.TokPos+2, operations[n.Tok])
	}
}

func (f *finder) negation(n ast.Node) {
	var condition ast.Expr
	switch n := n.(type) {
	case *ast.IfStmt:
		condition = n.Cond
	case *ast.ForStmt:
		condition = n.Cond
	}
	if condition != nil {
		f.replace(condition, condition.Pos(), condition.End(), "!("+f.piece(condition)+")")
	}
}

func (f *finder) half(n ast.Node) {
	if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
		f.replace(b, b.Pos(), b.End(), f.piece(b.X))
		f.replace(b, b.Pos(), b.End(), f.piece(b.Y))
	}
}

// force leaves the condition in its place, since what it calls may change something.
func (f *finder) force(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.replace(n.Cond, n.Cond.Pos(), n.Cond.End(), "("+f.piece(n.Cond)+") || true")
		f.replace(n.Cond, n.Cond.Pos(), n.Cond.End(), "("+f.piece(n.Cond)+") && false")
	case *ast.ForStmt:
		if n.Cond != nil {
			f.replace(n.Cond, n.Cond.Pos(), n.Cond.End(), "("+f.piece(n.Cond)+") && false")
		}
	}
}

func (f *finder) constant(n ast.Node) {
	f.number(n, 1)
	if name, ok := n.(*ast.Ident); ok && !f.beside[n] {
		if other := map[string]string{"true": "false", "false": "true"}[name.Name]; other != "" {
			f.replace(n, n.Pos(), n.End(), other)
		}
	}
}

// number moves a number, but not one that is returned beside an error: nobody looks at it.
func (f *finder) number(n ast.Node, by int) {
	switch n := n.(type) {
	case *ast.ReturnStmt:
		if last := len(n.Results) - 1; last > 0 && f.piece(n.Results[last]) != "nil" {
			for _, result := range n.Results[:last] {
				f.beside[result] = true
			}
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseUint(n.Value, 0, 64); n.Kind == token.INT && err == nil && !f.beside[n] && (by > 0 || v > 0) {
			f.replace(n, n.Pos(), n.End(), strconv.FormatUint(v+uint64(by), 10))
		}
	}
}

func (f *finder) bound(n ast.Node) {
	f.number(n, -1)
	if s, ok := n.(*ast.SliceExpr); ok {
		for _, bound := range []ast.Expr{s.Low, s.High} {
			if _, number := bound.(*ast.BasicLit); bound != nil && !number {
				f.replace(bound, bound.Pos(), bound.End(), "("+f.piece(bound)+")-1")
			}
		}
	}
}

// arguments finds many that do not compile, which are not counted. The order does not matter to min and max.
func (f *finder) arguments(n ast.Node) {
	call, ok := n.(*ast.CallExpr)
	if !ok || call.Ellipsis.IsValid() {
		return
	}
	if name := f.piece(call.Fun); name == "min" || name == "max" {
		return
	}
	for i := 1; i < len(call.Args); i++ {
		a, b := call.Args[i-1], call.Args[i]
		if f.piece(a) != f.piece(b) {
			f.replace(call, a.Pos(), b.End(), f.piece(b)+", "+f.piece(a))
		}
	}
}

func (f *finder) once(n ast.Node) {
	var body *ast.BlockStmt
	switch n := n.(type) {
	case *ast.ForStmt:
		body = n.Body
	case *ast.RangeStmt:
		body = n.Body
	}
	if body != nil {
		f.add(n, f.brief(n.(ast.Stmt)), edit{f.offset(body.Rbrace), f.offset(body.Rbrace), "; break; "})
	}
}

// blockOf is the statements of a block or a case.
func blockOf(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.List
	case *ast.CaseClause:
		return n.Body
	}
	return nil
}

// isSimple reports whether a statement can be left out: it declares nothing, and the function
// goes on after it.
func isSimple(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		return !isPanic(s)
	case *ast.IncDecStmt, *ast.DeferStmt, *ast.IfStmt, *ast.RangeStmt, *ast.ForStmt, *ast.BranchStmt:
		return true
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	}
	return false
}

func (f *finder) drop(n ast.Node) {
	for _, s := range blockOf(n) {
		if isSimple(s) && !isMutexCall(s) {
			f.add(s, f.brief(s), edit{f.offset(s.Pos()), f.offset(s.End()), ""})
		}
	}
}

func (f *finder) swap(n ast.Node) {
	list := blockOf(n)
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if isSimple(a) && isSimple(b) && !isMutexCall(a) && !isMutexCall(b) && !f.independent(a, b) {
			f.add(a, f.brief(a)+" after "+f.brief(b),
				edit{f.offset(a.Pos()), f.offset(a.End()), f.piece(b)}, edit{f.offset(b.Pos()), f.offset(b.End()), f.piece(a)})
		}
	}
}

// independent reports whether two statements are assignments without calls, of which neither sets
// what the other one mentions: then their order cannot matter.
func (f *finder) independent(a, b ast.Stmt) bool {
	mentions := func(s ast.Stmt, of []ast.Expr) bool {
		return slices.ContainsFunc(of, func(e ast.Expr) bool { return strings.Contains(f.piece(s), f.piece(e)) })
	}
	x, y := assigned(a), assigned(b)
	return x != nil && y != nil && !calls(a) && !calls(b) && !mentions(a, y) && !mentions(b, x)
}

// assigned is what an assignment sets, nil if it is none.
func assigned(s ast.Stmt) []ast.Expr {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Lhs
	case *ast.IncDecStmt:
		return []ast.Expr{s.X}
	}
	return nil
}

// pure are functions and conversions that change nothing.
var pure = map[string]bool{
	"len": true, "cap": true, "min": true, "max": true, "string": true, "int": true, "int32": true, "int64": true,
	"uint": true, "uint32": true, "uint64": true, "float64": true, "byte": true,
}

// calls reports whether a statement calls a function that may change something.
func calls(s ast.Stmt) (does bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			name, ok := call.Fun.(*ast.Ident)
			does = does || !ok || !pure[name.Name]
		}
		return !does
	})
	return does
}

var madeErrors = map[string]bool{"fmt.Errorf": true, "errors.New": true, "errors.Join": true}

func (f *finder) wrap(n ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		switch f.piece(n.Fun) {
		case "fmt.Errorf":
			if format, ok := n.Args[0].(*ast.BasicLit); ok && strings.Contains(format.Value, "%w") {
				f.replace(format, format.Pos(), format.End(), strings.ReplaceAll(format.Value, "%w", "%v"))
			}
		case "errors.Join":
			f.replace(n, n.Pos(), n.End(), f.piece(n.Args[0]))
		}
	case *ast.ReturnStmt:
		if len(n.Results) == 0 {
			return
		}
		last := n.Results[len(n.Results)-1]
		made, ok := last.(*ast.CallExpr)
		if f.piece(last) == "err" || ok && madeErrors[f.piece(made.Fun)] {
			f.replace(n, last.Pos(), last.End(), "nil")
		}
	}
}
