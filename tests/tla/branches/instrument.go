package branches

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Branch is one branch of a package.
type Branch struct {
	File     string // "model/free.go"
	Function string // "(*State).freeBlock"; of a function literal, the function around it
	What     string // the condition, "entered", or "case ..."
	Outcome  string // "true" or "false" of a condition; otherwise empty
}

func (b Branch) String() string {
	text := fmt.Sprintf("%s %s: %s", b.File, b.Function, b.What)
	if b.Outcome != "" {
		text += " is " + b.Outcome
	}
	return text
}

// A Package is the rewritten source of a package.
type Package struct {
	Path     string            // below the root of the repository
	Branches []Branch          // in the order of the source; the command records them by index
	Files    map[string][]byte // by path: the rewritten files, and one that is added
}

// Instrument rewrites the files of a package.
func Instrument(root, path string) (*Package, error) {
	p := &Package{Path: path, Files: map[string][]byte{}}
	files, err := filepath.Glob(filepath.Join(root, path, "*.go"))
	if err != nil {
		return nil, err
	}
	name := ""
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if name, err = p.rewrite(path+"/"+filepath.Base(file), text); err != nil {
			return nil, err
		}
	}
	p.number()
	p.Files[path+"/branches_taken.go"] = fmt.Appendf(nil, recorder, name, len(p.Branches))
	return p, nil
}

// recorder is the file that is added: a byte for each branch, and functions that set it.
const recorder = `package %s

import "sync/atomic"

// BranchesTaken has for each branch whether it was taken.
var BranchesTaken [%d]atomic.Bool

func branch(i int) {
	if !BranchesTaken[i].Load() {
		BranchesTaken[i].Store(true)
	}
}

func outcome(i int, is bool) bool {
	if is {
		branch(i)
	} else {
		branch(i + 1)
	}
	return is
}
`

// number makes the names of equal branches of a function different.
func (p *Package) number() {
	seen := map[Branch]int{}
	for i, b := range p.Branches {
		if seen[b]++; seen[b] > 1 {
			p.Branches[i].What += fmt.Sprintf(" #%d", seen[b])
		}
	}
}

// A rewriter collects the insertions into one file.
type rewriter struct {
	pkg      *Package
	file     string
	text     []byte
	position func(token.Pos) int // offset in text
	inserted []insertion

	function string
}

type insertion struct {
	at   int
	text string
}

// rewrite adds a rewritten file, and returns the name of its package.
func (p *Package) rewrite(file string, text []byte) (name string, err error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	r := &rewriter{pkg: p, file: file, text: text, position: func(at token.Pos) int { return fset.Position(at).Offset }}
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			r.function = nameOf(f)
			r.block(f.Body.Lbrace+1, "entered")
			ast.Inspect(f.Body, r.visit)
		}
	}
	p.Files[file] = r.apply()
	return tree.Name.Name, nil
}

// nameOf is the name of a function or method.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		return "(*" + star.X.(*ast.Ident).Name + ")." + f.Name.Name
	}
	return receiver.(*ast.Ident).Name + "." + f.Name.Name
}

// visit instruments a node. Conditions are found at the statements that have them, and at the
// outermost && and ||.
func (r *rewriter) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		r.condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			r.condition(n.Cond)
		}
	case *ast.RangeStmt:
		r.block(n.Body.Lbrace+1, "for "+r.source(n.X))
	case *ast.SwitchStmt:
		for _, clause := range n.Body.List {
			r.clause(clause.(*ast.CaseClause), n.Tag)
		}
	case *ast.BinaryExpr:
		if isLogical(n) {
			r.condition(n)
		}
	}
	return true
}

func isLogical(e *ast.BinaryExpr) bool { return e.Op == token.LAND || e.Op == token.LOR }

// clause instruments a case: without a tag its expressions are conditions.
func (r *rewriter) clause(c *ast.CaseClause, tag ast.Expr) {
	switch {
	case c.List == nil:
		r.block(c.Colon+1, "default")
	case tag == nil:
		for _, e := range c.List {
			r.condition(e)
		}
	default:
		var values []string
		for _, e := range c.List {
			values = append(values, r.source(e))
		}
		r.block(c.Colon+1, "case "+strings.Join(values, ", "))
	}
}

// block records the beginning of a block.
func (r *rewriter) block(at token.Pos, what string) {
	r.insert(r.position(at), fmt.Sprintf(" branch(%d); ", len(r.pkg.Branches)))
	r.pkg.Branches = append(r.pkg.Branches, Branch{r.file, r.function, what, ""})
}

// condition records the outcomes of the operands of a condition.
func (r *rewriter) condition(e ast.Expr) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		r.condition(e.X)
		return
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			r.condition(e.X)
			return
		}
	case *ast.BinaryExpr:
		if isLogical(e) {
			r.condition(e.X)
			r.condition(e.Y)
			return
		}
	}
	begin, end := r.position(e.Pos()), r.position(e.End())
	if r.isRecorded(begin) {
		return
	}
	what := r.source(e)
	r.insert(begin, fmt.Sprintf("outcome(%d, ", len(r.pkg.Branches)))
	r.insert(end, ")")
	r.pkg.Branches = append(r.pkg.Branches,
		Branch{r.file, r.function, what, "true"}, Branch{r.file, r.function, what, "false"})
}

// isRecorded reports whether the condition at an offset was found before.
func (r *rewriter) isRecorded(begin int) bool {
	return slices.ContainsFunc(r.inserted, func(i insertion) bool {
		return i.at == begin && strings.HasPrefix(i.text, "outcome(")
	})
}

func (r *rewriter) insert(at int, text string) { r.inserted = append(r.inserted, insertion{at, text}) }

// source is the text of an expression in one line, without the bodies of functions.
func (r *rewriter) source(e ast.Expr) string {
	text := strings.Join(strings.Fields(string(r.text[r.position(e.Pos()):r.position(e.End())])), " ")
	if before, _, found := strings.Cut(text, "func("); found {
		return before + "func...)"
	}
	return text
}

// apply is the text with the insertions.
func (r *rewriter) apply() []byte {
	slices.SortStableFunc(r.inserted, func(a, b insertion) int { return a.at - b.at })
	var out []byte
	from := 0
	for _, i := range r.inserted {
		out = append(append(out, r.text[from:i.at]...), i.text...)
		from = i.at
	}
	return append(out, r.text[from:]...)
}
