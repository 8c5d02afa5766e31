package branches

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"gaugeblock/internal/rewrite"
)

// A Branch is one branch of a package.
type Branch struct {
	File     string // "model/free.go"
	Function string // "State.freeBlock"; of a function literal, the function around it
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
	Files    map[string]string // by path: the rewritten files, and one that is added
}

// Instrument rewrites the files of a package.
func Instrument(root, path string) (*Package, error) {
	p := &Package{Path: path, Files: map[string]string{}}
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
	p.Files[path+"/branches_taken.go"] = fmt.Sprintf(recorder, name, len(p.Branches))
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
	edits    rewrite.Edits
	recorded map[int]bool // where conditions begin that were found before

	function string
}

// rewrite adds a rewritten file, and returns the name of its package.
func (p *Package) rewrite(file string, text []byte) (name string, err error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	r := &rewriter{pkg: p, recorded: map[int]bool{}, file: file, text: text, position: func(at token.Pos) int { return fset.Position(at).Offset }}
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			r.function = rewrite.FunctionName(f)
			r.block(f.Body.Lbrace+1, "entered")
			ast.Inspect(f.Body, r.visit)
		}
	}
	p.Files[file] = r.edits.Apply(string(text), 0, len(text))
	return tree.Name.Name, nil
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
	r.edits.Insert(r.position(at), fmt.Sprintf(" branch(%d); ", len(r.pkg.Branches)))
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
	if r.recorded[begin] {
		return
	}
	r.recorded[begin] = true
	what := r.source(e)
	r.edits.Wrap(begin, end, fmt.Sprintf("outcome(%d, ", len(r.pkg.Branches)), ")")
	r.pkg.Branches = append(r.pkg.Branches,
		Branch{r.file, r.function, what, "true"}, Branch{r.file, r.function, what, "false"})
}

// source is the text of an expression in one line, without the bodies of functions.
func (r *rewriter) source(e ast.Expr) string {
	text := strings.Join(strings.Fields(string(r.text[r.position(e.Pos()):r.position(e.End())])), " ")
	if before, _, found := strings.Cut(text, "func("); found {
		return before + "func...)"
	}
	return text
}
