package alloc

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLocks reads the source of the package and checks what doc.go says of mutexes:
//
//   - A field below mu is used only where mu is held.
//   - A function whose name ends in Locked is called only where its mutex is held, and is
//     not used as a value, except as an argument of onEachDeviceWithContext.
//   - No Locked function takes the mutex that it needs, except after releasing it. One that
//     releases it, itself or through another, says so in its comment, and returns with the
//     mutex held.
//   - A mutex is taken only while mutexes before it in the order of doc.go are held,
//     through any chain of calls.
//   - doc.go lists every mutex.
//
// A mutex is held in a Locked function, in a function literal passed to onDevice and the like (see
// call), and between Lock and Unlock, or from Lock on if Unlock is deferred; device.lock counts as
// Lock, device.unlock and the other …AndUnlock as Unlock. So does, as Lock, `if !d.mu.TryLock() {
// d.lockInTurn() }`. A deferred function literal runs at each return. What is reached through
// interfaces and function values is not followed: the driver and the program's functions do not
// call the allocator while a mutex is held.
func TestLocks(t *testing.T) {
	c := newLockChecker(t)
	for _, name := range slices.Sorted(maps.Keys(c.functions)) {
		c.checkFunction(c.functions[name])
	}
	c.checkOrder()
	c.checkReleases()
	for _, problem := range c.problems {
		t.Error(problem)
	}
	if len(c.locked) < 50 || c.guardedUses < 100 || c.lockedCalls < 100 {
		t.Errorf("only %d Locked functions, %d calls of them and %d uses of guarded fields were found", len(c.locked), c.lockedCalls, c.guardedUses)
	}
}

// TestLocksFinds breaks each rule once, in a copy of the source.
func TestLocksFinds(t *testing.T) {
	for _, test := range []struct{ file, before, after, want string }{
		{"free.go", "	if !d.mu.TryLock() {\n		d.lockInTurn()\n	}\n", "", "allocatedBlocks.findLocked is called"},
		{"free.go", "!d.mu.TryLock()", "d.mu.TryLock()", "allocatedBlocks.findLocked is called"},
		{"free.go", "		d.lockInTurn()\n", "", "allocatedBlocks.findLocked is called"},
		{"free.go", "	d.lock()\n	return d.freeAndUnlock", "	return d.freeAndUnlock", "unlocks d.mu, which is not held"},
		{"free.go", "	defer d.unlock()\n", "	d.unlock()\n", "freeAllocatedLocked is called"},
		{"free.go", "	defer d.unlock()\n", "", "freeAndUnlock does not release the mutex"},
		{"free.go", "	d.mu.Unlock()\n", "", "returns with a mutex held"},
		{"settings.go", "	d.mu.Lock()\n	defer d.unlock()\n	return d.cfg\n", "	return d.cfg\n", "d.cfg is used"},
		{"device.go", "		d.mu.Lock()\n		p.pins--\n", "		p.pins--\n", "returns without"},
		{"device.go", "	defer d.mu.Unlock()\n	d.traceBuffer.deliver()\n", "	d.traceBuffer.deliver()\n", "deliverAndUnlock does not release"},
		{"segment.go", "It releases the mutex meanwhile if\n// release", "If\n// release", "driverMallocLocked releases"},
		{"malloc.go", "It releases the mutex\n// meanwhile for callbacks", "For callbacks", "findBlockLocked releases"},
		{"stats.go", "	return uint64(d.stats", "	d.mu.Lock()\n	return uint64(d.stats", "is taken while it is held"},
		{"peer.go", "		return d.addPeerLocked(dev)\n", "		_ = a.opened.addPeer(dev, peer)\n		return d.addPeerLocked(dev)\n", "openedHandles.mu is taken"},
		{"free.go", "	context := d.gather", "	f := d.freeBlockLocked\n	f(nil, nil)\n	context := d.gather", "freeBlockLocked is used as a value"},
		{"doc.go", "uncached.mu", "cached.mu", "doc.go does not list"},
	} {
		t.Run(test.want, func(t *testing.T) {
			c := newLockChecker(t, test.file, test.before, test.after)
			for _, f := range c.functions {
				c.checkFunction(f)
			}
			c.checkOrder()
			c.checkReleases()
			if !slices.ContainsFunc(c.problems, func(p string) bool { return strings.Contains(p, test.want) }) {
				t.Errorf("not found; found are %q", c.problems)
			}
		})
	}
}

// lockChecker is the package and what was found in it.
type lockChecker struct {
	files     *token.FileSet
	info      types.Info
	functions map[string]*ast.FuncDecl     // by full name
	locked    map[types.Object]string      // Locked functions: the mutex they need
	guards    map[types.Object]string      // fields below a mutex: that mutex
	order     []string                     // the mutexes of doc.go
	takes     map[string]map[string]string // function: mutexes that it takes, and where
	calls     map[string][]lockedCall
	releases  map[string]bool
	called    map[ast.Expr]bool // functions that are called, or passed to onDevice and the like

	problems                 []string
	guardedUses, lockedCalls int
}

// lockedCall is a call and the mutexes held at it.
type lockedCall struct {
	callee string
	held   []string
	at     token.Pos
}

// held is the mutexes held at a place: by the text of the expression before ".mu", the
// type that has it. fresh variables are not shared yet; their mutex is not needed.
type held struct {
	mutexes map[string]string
	fresh   map[string]bool
}

func (h held) clone() held { return held{maps.Clone(h.mutexes), h.fresh} }

func (h held) hasType(mutex string) bool {
	return slices.Contains(slices.Collect(maps.Values(h.mutexes)), mutex)
}

// sourceImporter keeps what it has imported.
var sourceImporter = importer.ForCompiler(token.NewFileSet(), "source", nil)

// newLockChecker reads the package, with a piece of a file replaced if one is given.
func newLockChecker(t *testing.T, replace ...string) *lockChecker {
	t.Helper()
	c := &lockChecker{
		files:     token.NewFileSet(),
		info:      types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}},
		functions: map[string]*ast.FuncDecl{}, locked: map[types.Object]string{}, guards: map[types.Object]string{},
		takes: map[string]map[string]string{}, calls: map[string][]lockedCall{}, releases: map[string]bool{},
		called: map[ast.Expr]bool{},
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var parsed []*ast.File
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(replace) > 0 && replace[0] == name {
			if strings.Count(string(text), replace[1]) == 0 {
				t.Fatalf("%s does not have %q", name, replace[1])
			}
			text = []byte(strings.Replace(string(text), replace[1], replace[2], 1))
		}
		file, err := parser.ParseFile(c.files, name, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
		if name == "doc.go" {
			for _, m := range regexp.MustCompile(`(?m)^//\t(\w+\.\w+)  `).FindAllStringSubmatch(string(text), -1) {
				c.order = append(c.order, m[1])
			}
		}
	}
	config := types.Config{Importer: sourceImporter, Error: func(error) {}} // errors are the compiler's
	_, _ = config.Check("alloc", c.files, parsed, &c.info)
	for _, file := range parsed {
		c.collect(file)
	}
	return c
}

// collect finds the functions and the mutexes of a file.
func (c *lockChecker) collect(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			c.functions[c.nameOf(c.info.Defs[n.Name])] = n
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok {
				c.collectFields(n.Name.Name, s)
			}
		}
		return true
	})
}

func (c *lockChecker) collectFields(owner string, s *ast.StructType) {
	mutex := ""
	for _, f := range s.Fields.List {
		if types.ExprString(f.Type) == "sync.Mutex" {
			name := owner + "." + f.Names[0].Name
			if f.Names[0].Name == "mu" {
				mutex = name
			}
			if !slices.Contains(c.order, name) {
				c.problem(f.Pos(), "doc.go does not list %s", name)
			}
			continue
		}
		for _, name := range f.Names {
			if mutex != "" {
				c.guards[c.info.Defs[name]] = mutex
			}
		}
	}
}

func (c *lockChecker) problem(at token.Pos, format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf("%v: ", c.files.Position(at))+fmt.Sprintf(format, args...))
}

// nameOf is "type.method" or "function".
func (c *lockChecker) nameOf(o types.Object) string {
	f, ok := o.(*types.Func)
	if !ok {
		return ""
	}
	if r := f.Signature().Recv(); r != nil {
		return typeName(r.Type()) + "." + f.Name()
	}
	return f.Name()
}

func typeName(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

// mutexOf is the mutex that a Locked method needs: that of its type, or, if the type has
// none, the device's.
func (c *lockChecker) mutexOf(receiver string) string {
	if slices.Contains(c.order, receiver+".mu") {
		return receiver + ".mu"
	}
	return "device.mu"
}

func (c *lockChecker) isLocked(f *ast.FuncDecl) bool { return strings.HasSuffix(f.Name.Name, "Locked") }

// checkFunction follows the mutexes through a function.
func (c *lockChecker) checkFunction(f *ast.FuncDecl) {
	w := &lockWalk{c: c, f: f, name: c.nameOf(c.info.Defs[f.Name]), start: held{map[string]string{}, map[string]bool{}}}
	c.takes[w.name] = map[string]string{}
	if slices.Contains(locks, w.name) {
		return
	}
	if c.isLocked(f) || slices.Contains(unlocks, w.name) {
		receiver := f.Recv.List[0].Names[0].Name
		w.start.mutexes[receiver] = c.mutexOf(typeName(c.info.Defs[f.Recv.List[0].Names[0]].Type()))
		if c.isLocked(f) {
			c.locked[c.info.Defs[f.Name]] = w.start.mutexes[receiver]
		}
	}
	end, falls := w.block(f.Body.List, w.start.clone())
	if falls {
		w.atReturn(f.Body.Rbrace, end)
	}
}

// checkOrder finds the mutexes that are taken out of order, through calls as well.
func (c *lockChecker) checkOrder() {
	for changed := true; changed; {
		changed = false
		for caller, calls := range c.calls {
			for _, call := range calls {
				for mutex, where := range c.takes[call.callee] {
					if _, there := c.takes[caller][mutex]; !there && !slices.Contains(call.held, mutex) {
						c.takes[caller][mutex] = where
						changed = true
					}
				}
			}
		}
	}
	for _, calls := range c.calls {
		for _, call := range calls {
			for mutex, where := range c.takes[call.callee] {
				for _, h := range call.held {
					if h == mutex && c.releases[call.callee] {
						continue // released first
					}
					if slices.Index(c.order, mutex) <= slices.Index(c.order, h) {
						c.problem(call.at, "%s is taken, at %s, while %s is held", mutex, where, h)
					}
				}
			}
		}
	}
}

// checkReleases finds the Locked functions that release the mutex and do not say so.
func (c *lockChecker) checkReleases() {
	for changed := true; changed; {
		changed = false
		for caller, calls := range c.calls {
			for _, call := range calls {
				if c.releases[call.callee] && !c.releases[caller] && c.isLocked(c.functions[caller]) {
					c.releases[caller] = true
					changed = true
				}
			}
		}
	}
	for name := range c.releases {
		f := c.functions[name]
		if slices.Contains(unlocks, name) {
			continue
		}
		if text := strings.Join(strings.Fields(f.Doc.Text()), " "); !strings.Contains(text, "releases the mutex meanwhile") {
			c.problem(f.Pos(), "%s releases the mutex and its comment does not say so", name)
		}
	}
}

// lockWalk follows the statements of one function.
type lockWalk struct {
	c        *lockChecker
	f        *ast.FuncDecl
	name     string
	start    held
	defers   bool
	literals []*ast.FuncLit // deferred, in order
}

// locks are the functions that take the device's mutex for their callers. They are not
// followed: TestLockExcludes tests them.
var locks = []string{"device.lock", "device.lockInTurn"}

// unlocks are the functions that release the device's mutex for their callers.
var unlocks = []string{"device.unlock", "device.deliverAndUnlock", "device.mallocAndUnlock", "device.findAllocateAndUnlock", "device.freeAndUnlock"}

// atReturn checks that a Locked function returns with its mutex held, and another one
// without any.
func (w *lockWalk) atReturn(at token.Pos, h held) {
	for _, l := range slices.Backward(w.literals) {
		h, _ = (&lockWalk{c: w.c, f: w.f, name: w.name, start: w.start}).block(l.Body.List, h.clone())
	}
	if slices.Contains(unlocks, w.name) {
		if len(h.mutexes) > 0 && !w.defers {
			w.c.problem(at, "%s does not release the mutex", w.name)
		}
		return
	}
	for base, mutex := range w.start.mutexes {
		if h.mutexes[base] == "" {
			w.c.problem(at, "%s returns without %s", w.name, mutex)
		}
	}
	if len(h.mutexes) > len(w.start.mutexes) && !w.defers {
		w.c.problem(at, "%s returns with a mutex held", w.name)
	}
}

// block follows statements. It reports what is held after them, and whether the end is
// reached.
func (w *lockWalk) block(list []ast.Stmt, h held) (held, bool) {
	for _, s := range list {
		var falls bool
		if h, falls = w.statement(s, h); !falls {
			return h, false
		}
	}
	return h, true
}

// join is what is held after one of several branches.
func join(branches []held, otherwise held) held {
	if len(branches) == 0 {
		return otherwise
	}
	h := branches[0].clone()
	maps.DeleteFunc(h.mutexes, func(base, _ string) bool {
		return slices.ContainsFunc(branches, func(b held) bool { return b.mutexes[base] == "" })
	})
	return h
}

func (w *lockWalk) statement(s ast.Stmt, h held) (held, bool) {
	switch s := s.(type) {
	case *ast.ExprStmt:
		if base, method := mutexCall(s.X); method != "" {
			return w.lockOrUnlock(base, method, h), true
		}
		w.expressions(s, h)
	case *ast.DeferStmt:
		if _, method := mutexCall(s.Call); method == "Unlock" {
			w.defers = true
			return h, true
		}
		if l, ok := s.Call.Fun.(*ast.FuncLit); ok {
			w.literals = append(w.literals, l)
			return h, true
		}
		w.expressions(s, h)
	case *ast.AssignStmt:
		w.expressions(s, h)
		for _, value := range s.Rhs {
			if base, method := mutexCall(value); method == "Unlock" {
				h = w.lockOrUnlock(base, method, h)
			}
		}
		w.findFresh(s, h)
	case *ast.ReturnStmt:
		w.expressions(s, h)
		for _, result := range s.Results {
			if base, method := mutexCall(result); method == "Unlock" {
				h = w.lockOrUnlock(base, method, h)
			}
		}
		w.atReturn(s.Pos(), h)
		return h, false
	case *ast.BranchStmt:
		return h, s.Tok == token.FALLTHROUGH
	case *ast.BlockStmt:
		return w.block(s.List, h)
	case *ast.IfStmt:
		return w.ifStatement(s, h)
	case *ast.ForStmt:
		for _, part := range []ast.Stmt{s.Init, s.Post} {
			if part != nil {
				h, _ = w.statement(part, h)
			}
		}
		if s.Cond != nil {
			w.expressions(s.Cond, h)
		}
		return w.loop(s.Body, h)
	case *ast.RangeStmt:
		w.expressions(s.X, h)
		return w.loop(s.Body, h)
	case *ast.SwitchStmt:
		if s.Init != nil {
			h, _ = w.statement(s.Init, h)
		}
		if s.Tag != nil {
			w.expressions(s.Tag, h)
		}
		return w.clauses(s.Body, h)
	default:
		w.expressions(s, h)
	}
	return h, true
}

func (w *lockWalk) ifStatement(s *ast.IfStmt, h held) (held, bool) {
	if base := lockedInTurn(s); base != "" {
		return w.lockOrUnlock(base, "Lock", h), true
	}
	if s.Init != nil {
		h, _ = w.statement(s.Init, h)
	}
	w.expressions(s.Cond, h)
	var ends []held
	if then, falls := w.block(s.Body.List, h.clone()); falls {
		ends = append(ends, then)
	}
	if s.Else == nil {
		ends = append(ends, h)
	} else if other, falls := w.statement(s.Else, h.clone()); falls {
		ends = append(ends, other)
	}
	return join(ends, h), len(ends) > 0
}

// loop follows the body of a loop, which must leave as much held as it found.
func (w *lockWalk) loop(body *ast.BlockStmt, h held) (held, bool) {
	after, falls := w.block(body.List, h.clone())
	if falls && !maps.Equal(after.mutexes, h.mutexes) {
		w.c.problem(body.Rbrace, "%s: the loop changes what is held", w.name)
	}
	return h, true
}

func (w *lockWalk) clauses(body *ast.BlockStmt, h held) (held, bool) {
	ends, hasDefault := []held{}, false
	for _, s := range body.List {
		clause := s.(*ast.CaseClause)
		for _, e := range clause.List {
			w.expressions(e, h)
		}
		hasDefault = hasDefault || clause.List == nil
		if end, falls := w.block(clause.Body, h.clone()); falls {
			ends = append(ends, end)
		}
	}
	if !hasDefault {
		ends = append(ends, h)
	}
	return join(ends, h), len(ends) > 0
}

// lockedInTurn takes "if !x.mu.TryLock() { x.lockInTurn() }" apart: x.
func lockedInTurn(s *ast.IfStmt) string {
	not, ok := s.Cond.(*ast.UnaryExpr)
	if !ok || not.Op != token.NOT || len(s.Body.List) != 1 || s.Else != nil {
		return ""
	}
	tried := types.ExprString(not.X)
	base, ok := strings.CutSuffix(tried, ".mu.TryLock()")
	if then, isCall := s.Body.List[0].(*ast.ExprStmt); !ok || !isCall || types.ExprString(then.X) != base+".lockInTurn()" {
		return ""
	}
	return base
}

// mutexCall takes "x.mu.Lock()" apart: x and Lock.
func mutexCall(e ast.Expr) (base, method string) {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return "", ""
	}
	s, ok := call.Fun.(*ast.SelectorExpr)
	if ok && s.Sel.Name == "lock" {
		return types.ExprString(s.X), "Lock"
	}
	if ok && (s.Sel.Name == "unlock" || strings.HasSuffix(s.Sel.Name, "AndUnlock")) {
		return types.ExprString(s.X), "Unlock"
	}
	if ok && (s.Sel.Name == "Lock" || s.Sel.Name == "Unlock") {
		if mu, ok := s.X.(*ast.SelectorExpr); ok {
			if mu.Sel.Name == "mu" {
				return types.ExprString(mu.X), s.Sel.Name
			}
			return types.ExprString(mu), s.Sel.Name
		}
	}
	return "", ""
}

func (w *lockWalk) lockOrUnlock(base, method string, h held) held {
	h = h.clone()
	mutex := w.mutexNamed(base)
	if method == "Unlock" {
		if h.mutexes[base] == "" {
			w.c.problem(w.f.Pos(), "%s unlocks %s.mu, which is not held", w.name, base)
		}
		delete(h.mutexes, base)
		if w.start.mutexes[base] != "" {
			w.c.releases[w.name] = true
		}
		return h
	}
	for _, other := range h.mutexes {
		if slices.Index(w.c.order, mutex) <= slices.Index(w.c.order, other) {
			w.c.problem(w.f.Pos(), "%s: %s is taken while it is held, or %s, which comes after it", w.name, mutex, other)
		}
	}
	h.mutexes[base] = mutex
	w.c.takes[w.name][mutex] = w.c.files.Position(w.f.Pos()).String()
	return h
}

// mutexNamed is the mutex of the expression with this text, as doc.go names it.
func (w *lockWalk) mutexNamed(base string) string {
	found := ""
	ast.Inspect(w.f, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && found == "" && types.ExprString(e) == base {
			if s, ok := e.(*ast.SelectorExpr); ok && typeName(w.c.info.TypeOf(e)) == "Mutex" {
				found = typeName(w.c.info.TypeOf(s.X)) + "." + s.Sel.Name
			} else {
				found = typeName(w.c.info.TypeOf(e)) + ".mu"
			}
		}
		return found == ""
	})
	return found
}

// findFresh finds the variables that are set to a struct made here.
func (w *lockWalk) findFresh(s *ast.AssignStmt, h held) {
	for i, e := range s.Rhs {
		if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
			if _, ok := u.X.(*ast.CompositeLit); ok {
				h.fresh[types.ExprString(s.Lhs[i])] = true
			}
		}
	}
}

// expressions checks the uses of guarded fields and the calls in a node.
func (w *lockWalk) expressions(n ast.Node, h held) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return w.call(n, h)
		case *ast.FuncLit:
			w.literal(n, h.clone())
			return false
		case *ast.SelectorExpr:
			w.field(n, h)
		}
		return true
	})
}

// literal follows a function literal, which is taken to run where it stands.
func (w *lockWalk) literal(l *ast.FuncLit, h held) {
	inner := &lockWalk{c: w.c, f: w.f, name: w.name, start: h}
	inner.block(l.Body.List, h.clone())
}

// call checks a call. It reports whether the arguments are still to be checked.
func (w *lockWalk) call(n *ast.CallExpr, h held) bool {
	s, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return true
	}
	w.c.called[s] = true
	callee := w.c.nameOf(w.c.info.Uses[s.Sel])
	if w.c.functions[callee] == nil {
		return true
	}
	w.c.calls[w.name] = append(w.c.calls[w.name], lockedCall{callee, slices.Collect(maps.Values(h.mutexes)), n.Pos()})
	if strings.HasSuffix(callee, "Locked") {
		w.c.lockedCalls++
		w.lockedCall(s, callee, h)
	}
	if slices.Contains([]string{"withMutex", "onEachDeviceInOrder", "onDevice", "onEachDevice", "onEachDeviceWithContext"}, s.Sel.Name) {
		return w.onDevice(n, n.Args[len(n.Args)-1], h)
	}
	return true
}

// onDevice follows the function literal that is passed to a function that takes the
// device's mutex for it.
func (w *lockWalk) onDevice(n *ast.CallExpr, argument ast.Expr, h held) bool {
	l, ok := argument.(*ast.FuncLit)
	if !ok {
		w.c.called[argument] = true
		return true
	}
	for _, a := range n.Args[:len(n.Args)-1] {
		w.expressions(a, h)
	}
	inside := h.clone()
	inside.mutexes[l.Type.Params.List[0].Names[0].Name] = "device.mu"
	w.literal(l, inside)
	return false
}

// lockedCall checks that the mutex of a Locked function is held: that of the receiver,
// or, if the receiver has none, that of any device.
func (w *lockWalk) lockedCall(s *ast.SelectorExpr, callee string, h held) {
	mutex := w.c.mutexOf(strings.Split(callee, ".")[0])
	base := types.ExprString(s.X)
	if typeName(w.c.info.TypeOf(s.X))+".mu" == mutex {
		if h.mutexes[base] != "" || h.fresh[base] || base == "x.device" && h.hasType(mutex) {
			return
		}
	} else if h.hasType(mutex) {
		return
	}
	w.c.problem(s.Pos(), "%s: %s.%s is called and %s is not held", w.name, base, s.Sel.Name, mutex)
}

// field checks that the mutex above a field is held, and that a Locked function is not
// used as a value.
func (w *lockWalk) field(s *ast.SelectorExpr, h held) {
	if name := w.c.nameOf(w.c.info.Uses[s.Sel]); w.c.functions[name] != nil && strings.HasSuffix(name, "Locked") && !w.c.called[s] {
		w.c.problem(s.Pos(), "%s: %s is used as a value", w.name, name)
	}
	mutex := w.c.guards[w.c.info.Uses[s.Sel]]
	if mutex == "" {
		return
	}
	w.c.guardedUses++
	base := types.ExprString(s.X)
	if h.mutexes[base] == "" && !h.fresh[base] && !(base == "x.device" && h.hasType(mutex)) {
		w.c.problem(s.Pos(), "%s: %s.%s is used and %s is not held", w.name, base, s.Sel.Name, mutex)
	}
}
