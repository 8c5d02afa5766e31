package torch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
	binary "gaugeblock/tools/torch/binary"
)

// Two builds of PyTorch beside each other. The reference makes the programs up, and judges nothing:
// each is performed by a worker of either build, which answers with a number for each operation,
// made of all that the allocator did. Where the numbers differ first, both say in words what they
// did.

// Against says which builds are compared.
type Against struct {
	Builds     [2]binary.Options // that have been built; the first is the older one
	Areas      []string          // none means all that can be compared
	Settings   *string
	Operations int // to be compared at least
	Seed       uint64
	Workers    int    // pairs of processes; 0 means 1
	Directory  string // where the programs are written; "": nowhere
	Progress   func(compared int)
}

// AgainstReport is what came of it.
type AgainstReport struct {
	Builds     [2]string `json:"builds"` // versions
	Operations int       `json:"operations"`
	Programs   int       `json:"programs"`
	Differ     int       `json:"differ"` // programs in which something did
	Seconds    float64   `json:"seconds"`
	Causes     []Cause   `json:"causes"`
}

// A Cause is a decision that the builds make differently, as far as smallest programs tell: two
// programs are of one cause if the same thing differs in them in an operation of the same kind, and
// one has all kinds of operations and all keys of settings that the other has.
type Cause struct {
	Finding
	Programs int     `json:"programs"` // in which it was met; those that were not made smaller count as the most similar
	Seconds  float64 `json:"seconds"`  // after which it was met first
	Settings string  `json:"settings"` // of the smallest program

	key, signature string
	parts          map[string]bool // kinds of operations, and keys of settings
	operations     int
}

// smallest is how many programs with one signature are made smaller: more seldom show another
// cause.
const smallest = 6

// against is a comparison under way.
type against struct {
	Against
	conditions Conditions
	grammars   [2]string // names of the releases whose settings both builds know
	began      time.Time

	mu     sync.Mutex
	next   int
	seen   map[string]int // programs by signature
	report AgainstReport
	failed error
}

// Run compares the builds.
func (a Against) Run() (AgainstReport, error) {
	if len(a.Areas) == 0 {
		a.Areas = comparableAreas()
	}
	run := &against{Against: a, began: time.Now(), seen: map[string]int{}}
	run.Workers = cmp.Or(a.Workers, 1)
	run.conditions = Conditions{Release: a.Builds[0].Release().Name, Settings: a.Settings, Length: 400, Every: 20}
	for i, build := range a.Builds {
		run.grammars[i] = build.Release().Name
		run.report.Builds[i] = cmp.Or(build.Version(), "of an unknown version")
	}
	var all sync.WaitGroup
	for range run.Workers {
		all.Go(func() {
			if err := run.work(); err != nil {
				run.mu.Lock()
				run.failed = errors.Join(run.failed, err)
				run.mu.Unlock()
			}
		})
	}
	all.Wait()
	run.report.Seconds = time.Since(run.began).Seconds()
	for signature, n := range run.seen {
		run.share(signature, n)
	}
	run.report.Causes = merged(run.report.Causes)
	slices.SortFunc(run.report.Causes, func(x, y Cause) int {
		return cmp.Or(cmp.Compare(y.Programs, x.Programs), cmp.Compare(x.key, y.key))
	})
	return run.report, run.failed
}

// merged adds each cause to one that has less in it and is the same apart from that.
func merged(causes []Cause) (kept []Cause) {
	slices.SortFunc(causes, func(x, y Cause) int {
		return cmp.Or(cmp.Compare(len(x.parts), len(y.parts)), cmp.Compare(x.operations, y.operations), cmp.Compare(x.Seed, y.Seed))
	})
	for _, c := range causes {
		i := slices.IndexFunc(kept, func(k Cause) bool {
			missing := maps.Clone(k.parts)
			maps.DeleteFunc(missing, func(part string, _ bool) bool { return c.parts[part] })
			return k.key == c.key && len(missing) == 0
		})
		if i < 0 {
			kept = append(kept, c)
			continue
		}
		kept[i].Programs += c.Programs
		kept[i].Seconds = min(kept[i].Seconds, c.Seconds)
	}
	return kept
}

// share counts programs that have a signature with the cause that was met with it first.
func (a *against) share(signature string, programs int) {
	for i := range a.report.Causes {
		if c := &a.report.Causes[i]; c.signature == signature {
			c.Programs += programs
			return
		}
	}
}

// work lets a pair of processes work until there is nothing more to do.
func (a *against) work() (err error) {
	var pair buildPair
	for i, build := range a.Builds {
		if pair.workers[i], err = startWorker(build); err != nil {
			return err
		}
		defer func() {
			if stopped := pair.workers[i].stop(); err == nil {
				err = stopped
			}
		}()
	}
	for {
		a.mu.Lock()
		ended, n := a.failed != nil || a.report.Operations >= a.Operations, a.next
		a.next++
		a.mu.Unlock()
		if ended {
			return nil
		}
		area, seed := a.Areas[n%len(a.Areas)], a.Seed+uint64(n/len(a.Areas))
		o, err := a.program(area, seed)
		if err != nil {
			return err
		}
		compared, err := pair.compare(&o)
		if err != nil {
			return err
		}
		a.count(compared, o.Difference != nil)
		if o.Difference != nil {
			if err := a.found(&pair, area, seed, o); err != nil {
				return err
			}
		}
	}
}

func (a *against) count(operations int, differ bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Operations += operations
	a.report.Programs++
	if differ {
		a.report.Differ++
	}
	if a.Progress != nil {
		a.Progress(a.report.Operations)
	}
}

// program makes a program up, with settings that both builds know.
func (a *against) program(area string, seed uint64) (Outcome, error) {
	alter := func(h *trace.Header) {
		a.conditions.header(h)
		h.Settings = a.known(h.Settings)
	}
	source, h := conformance.Find(area).NewSource(conformance.Seeded(seed), seed, alter)
	player, err := perform.New(&h, reference.New)
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Header: h, Every: a.conditions.Every}
	made := newMaker(source, h, seed)
	for len(o.Ops) < a.conditions.Length {
		var op trace.Op
		if !made.make(&op) {
			continue
		}
		if op.Kind == trace.OpConfigure {
			op.Settings = a.known(op.Settings)
		}
		o.Ops = append(o.Ops, op)
		did := player.Perform(&op)
		made.did(&op, &did)
	}
	return o, nil
}

// known are the settings that both builds know.
func (a *against) known(text string) string {
	for _, name := range a.grammars {
		text = knownSettings(text, rulesOf(&trace.Header{Release: name}).Settings)
	}
	return text
}

// found makes a program smaller, if few with its signature were, and adds it to its cause.
func (a *against) found(pair *buildPair, area string, seed uint64, o Outcome) error {
	signature := signatureOf(&o)
	a.mu.Lock()
	a.seen[signature]++
	enough := a.seen[signature] > smallest
	since := time.Since(a.began).Seconds()
	a.mu.Unlock()
	if enough {
		return nil
	}
	small, err := pair.minimise(area, o)
	if err != nil {
		return err
	}
	c := Cause{signature: signature, Seconds: since, Settings: small.Header.Settings, operations: len(small.Ops)}
	c.key, c.parts = causeOf(&small)
	c.Finding = Finding{Area: area, Seed: seed, What: pair.inWords(a.report.Builds, small.Difference)}
	for i := range small.Ops {
		c.Program = append(c.Program, small.Ops[i].InWords())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[signature]--
	i := slices.IndexFunc(a.report.Causes, func(other Cause) bool { return other.key == c.key && maps.Equal(other.parts, c.parts) })
	if i >= 0 {
		known := &a.report.Causes[i]
		if c.Programs, c.Seconds = known.Programs+1, known.Seconds; known.operations <= c.operations {
			known.Programs++
			return nil
		}
		c.signature = known.signature
		a.report.Causes[i] = c
	} else {
		c.Programs = 1
		i = len(a.report.Causes)
		a.report.Causes = append(a.report.Causes, c)
	}
	if a.Directory == "" {
		return nil
	}
	if err := a.report.Causes[i].write(filepath.Join(a.Directory, fmt.Sprintf("cause-%d", i+1)), &small, c.What); err != nil {
		a.report.Causes[i].Trace = "nowhere: " + err.Error()
	}
	return nil
}

// signatureOf is what is known of a difference before its program is made smaller.
func signatureOf(o *Outcome) string {
	last := o.Ops[len(o.Ops)-1]
	return strings.Join([]string{string(last.Kind), o.Difference.What, shapeOf(o.Difference.Reference), shapeOf(o.Difference.PyTorch)}, "|")
}

// shapeOf leaves the numbers of an answer out.
func shapeOf(answer string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, answer)
}

// causeOf is what the smallest programs of one cause have in common: what differs, in which kind of
// operation; and what else is in this one, kinds of operations and keys of settings. Where only words
// differ nothing else matters.
func causeOf(o *Outcome) (key string, parts map[string]bool) {
	what, last := o.Difference.What, o.Ops[len(o.Ops)-1].Kind
	shapes := strings.Join([]string{what, shapeOf(o.Difference.Reference), shapeOf(o.Difference.PyTorch)}, "|")
	if what == "error" || what == "message" {
		return shapes, nil
	}
	parts = map[string]bool{}
	for i := range o.Ops {
		parts[string(o.Ops[i].Kind)] = true
	}
	for _, item := range splitSettings(o.Header.Settings) {
		name, _, _ := strings.Cut(item, ":")
		parts[name] = true
	}
	if what == "address" || last == trace.OpMalloc && what == "trace entry" {
		what = "memory" // that a request gets
	}
	return what + "|" + string(last), parts
}

// String is the last line of a report.
func (r *AgainstReport) String() string {
	return fmt.Sprintf("%d operations in %d programs, of which %d differ, for %d causes", r.Operations, r.Programs, r.Differ, len(r.Causes))
}

// buildPair is a worker of each build.
type buildPair struct{ workers [2]*worker }

// alone is what a worker answers of a program that is performed by PyTorch's allocator alone.
type alone struct {
	Made    []int    // operations of the program that made sense, by index
	Numbers []uint64 // of each, made of what was done
	Texts   []uint64 // of each, made of the message of running out of memory
	Last    did      // by the last of them, in words
}

// did is what was done, as a reader looks at it.
type did struct {
	Error, Message string
	Address        spec.Ptr
	Entries        []spec.TraceEntry
	Figures        []int64
	Layout         []spec.Segment // nil: it was not looked at
}

// compare performs a program on both builds, up to the first difference.
func (p *buildPair) compare(o *Outcome) (operations int, err error) {
	answers, crashes, err := p.both(o)
	if err != nil {
		return 0, err
	}
	if crashes != [2]*Crash{} {
		return p.crashed(o, crashes)
	}
	a, b := answers[0], answers[1]
	n := firstDifference(a.Numbers, b.Numbers)
	if n == len(a.Numbers) && n == len(b.Numbers) { // what is said matters if nothing else does
		n = firstDifference(a.Texts, b.Texts)
	}
	if n == len(a.Numbers) && n == len(b.Numbers) {
		return n, nil
	}
	upTo := len(o.Ops)
	if n < len(a.Made) {
		upTo = a.Made[n] + 1
	}
	o.Ops = o.Ops[:upTo]
	if answers, crashes, err = p.both(o); err != nil || crashes != [2]*Crash{} {
		return n, cmp.Or(err, errors.New("a program has crashed that did not crash before"))
	}
	o.Difference = differenceOf(&o.Ops[upTo-1], n+1, &answers[0].Last, &answers[1].Last)
	kept := make([]trace.Op, 0, n+1)
	for _, i := range answers[0].Made {
		kept = append(kept, o.Ops[i])
	}
	o.Ops = kept
	return n, nil
}

// both performs a program on both builds at once.
func (p *buildPair) both(o *Outcome) (answers [2]alone, crashes [2]*Crash, err error) {
	j := &job{Alone: true, Area: o.Header.Family, Header: o.Header, Ops: o.Ops, Conditions: Conditions{Every: o.Every}}
	var all sync.WaitGroup
	var errs [2]error
	for i, w := range p.workers {
		all.Go(func() {
			var r reply
			r, crashes[i], errs[i] = w.do(j)
			answers[i] = r.Alone
		})
	}
	all.Wait()
	return answers, crashes, errors.Join(errs[:]...)
}

func firstDifference(a, b []uint64) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// crashed: a build, or both, came to no end.
func (p *buildPair) crashed(o *Outcome, crashes [2]*Crash) (operations int, err error) {
	first := len(o.Ops)
	for _, c := range crashes {
		if c != nil {
			first = min(first, c.Operation)
		}
	}
	if crashes[0] != nil && crashes[1] != nil && crashes[0].Operation == crashes[1].Operation {
		return first, nil
	}
	var words [2]string
	for i, c := range crashes {
		if words[i] = "an answer"; c != nil && c.Operation == first {
			words[i] = c.Said
		}
	}
	o.Ops = o.Ops[:first]
	o.Difference = &Difference{Operation: first, Op: o.Ops[first-1].InWords(), What: "crash", Reference: words[0], PyTorch: words[1]}
	return first, nil
}

// inWords is a difference in the names of the builds.
func (p *buildPair) inWords(builds [2]string, d *Difference) string {
	return fmt.Sprintf("operation %d, %s: %s: %s has %s, %s has %s", d.Operation, d.Op, d.What, builds[0], d.Reference, builds[1], d.PyTorch)
}

// minimise makes a program smaller in which something differs.
func (p *buildPair) minimise(area string, o Outcome) (Outcome, error) {
	o.Every = 1
	closer := o
	if _, err := p.compare(&closer); err != nil || closer.Difference == nil {
		return o, err
	}
	m := &minimiser{best: closer, left: effort / 6}
	m.perform = func(ops []trace.Op) (Outcome, error) {
		candidate := Outcome{Header: m.best.Header, Ops: ops, Every: 1}
		_, err := p.compare(&candidate)
		return candidate, err
	}
	if err := m.minimise(); err != nil {
		return m.best, err
	}
	return m.best, p.simplerSettings(m)
}

// simplerSettings leaves out settings that do not matter.
func (p *buildPair) simplerSettings(m *minimiser) error {
	for i := 0; ; {
		items := splitSettings(m.best.Header.Settings)
		if i >= len(items) || items[i] == "" {
			return nil
		}
		candidate := m.best
		candidate.Header.Settings = strings.Join(slices.Delete(slices.Clone(items), i, i+1), ",")
		candidate.Difference = nil
		if _, err := p.compare(&candidate); err != nil {
			return err
		}
		if candidate.kind() == m.best.kind() && len(candidate.Ops) <= len(m.best.Ops) {
			m.best = candidate
		} else {
			i++
		}
	}
}

// differenceOf names the first thing that differs.
func differenceOf(op *trace.Op, n int, a, b *did) *Difference {
	d := &Difference{Operation: n, Op: op.InWords()}
	set := func(what, x, y string) bool {
		d.What, d.Reference, d.PyTorch = what, x, y
		return x != y
	}
	if x, y := cutToDifference(a.Error, b.Error); set("error", x, y) {
		return d
	}
	if x, y := cutToDifference(a.Message, b.Message); set("message", x, y) {
		return d
	}
	if set("address", a.Address.String(), b.Address.String()) {
		return d
	}
	for i := range max(len(a.Entries), len(b.Entries)) {
		if set("trace entry", entry(a.Entries, i), entry(b.Entries, i)) {
			return d
		}
	}
	for i := range min(len(a.Figures), len(b.Figures)) {
		if set(figureNames[i], fmt.Sprint(a.Figures[i]), fmt.Sprint(b.Figures[i])) {
			return d
		}
	}
	set(replay.CompareLayouts(a.Layout, b.Layout))
	return d
}

// cutToDifference cuts two texts to the words in which they differ.
func cutToDifference(a, b string) (x, y string) {
	v, w := strings.Fields(a), strings.Fields(b)
	from := 0
	for from < min(len(v), len(w)) && v[from] == w[from] {
		from++
	}
	to := 0
	for to < min(len(v), len(w))-from && v[len(v)-1-to] == w[len(w)-1-to] {
		to++
	}
	words := func(list []string) string {
		text := strings.Join(list[from:len(list)-to], " ")
		if text == "" && from < len(list) {
			return "nothing there"
		}
		return cmp.Or(text, "nothing")
	}
	if a == b {
		return a, b
	}
	return words(v), words(w)
}

// alone performs a program on PyTorch's allocator alone.
func (j *job) alone(place *place) (answer alone, err error) {
	h := j.Header
	h.Release = loadedRelease()
	player, err := perform.New(&h, newPyTorch)
	if err != nil {
		return answer, err
	}
	player.Reuse()
	player.GPU().WithoutEffects()
	program := newProgram(conformance.Find(j.Area), h)
	for i := range j.Ops {
		op := &j.Ops[i]
		if op.Expect = (trace.Expectation{}); !program.Prepare(op) {
			continue
		}
		place.set(0, 0, i+1)
		out := player.Perform(op)
		d, err := describe(player, op, &out, len(answer.Made)%max(j.Every, 1) == 0)
		if err != nil {
			return answer, err
		}
		program.Did(op, &out)
		answer.Made, answer.Numbers, answer.Last = append(answer.Made, i), append(answer.Numbers, d.number()), d
		answer.Texts = append(answer.Texts, textNumber(d.Message))
		if op.Kind == trace.OpRestore && out.Err != nil {
			break // how far it has come before depends on addresses in the heap
		}
	}
	answer.Last.Entries = slices.Clone(answer.Last.Entries)
	return answer, nil
}

// sourcePlace is where in PyTorch's source an assertion has failed; someAddress one that an error
// names: which of several it names depends on addresses in the heap.
var (
	sourcePlace = regexp.MustCompile(`at "[^"]*":\d+`)
	someAddress = regexp.MustCompile(`0x[0-9a-f]+`)
)

// describe gathers what an operation did. Order that comes of addresses in the heap is taken out of
// it: two builds have different heaps. What has followed from such an order is left out, or begins
// anew.
func describe(player *perform.Player, op *trace.Op, out *perform.Result, looks bool) (d did, err error) {
	d.Error, d.Address, d.Entries = trace.ErrorName(out.Err), out.Ptr, slices.Clone(out.Entries)
	if out.Err != nil && trace.ErrorName(out.Err) != trace.ErrorOOM {
		d.Error = sourcePlace.ReplaceAllString(inWords(out.Err), "in the source")
		d.Error = someAddress.ReplaceAllString(d.Error, "an address")
	}
	if op.Kind == trace.OpRestore && out.Err != nil {
		return did{Error: d.Error}, nil
	}
	var full *binary.OutOfMemory
	if errors.As(out.Err, &full) {
		d.Message = full.Message
	}
	a := player.Allocator()
	replay.SortFrees(d.Entries)
	if op.Kind == trace.OpRestore {
		slices.SortFunc(d.Entries, replay.CompareEntries)
	}
	if op.Kind == trace.OpRestore || completedFrees(d.Entries) > 1 { // peaks and sums follow the order
		r := a.(spec.StatsResetter)
		if err := errors.Join(r.ResetPeakStats(op.Device), r.ResetAccumulatedStats(op.Device)); err != nil {
			return d, err
		}
	}
	figures, err := a.Stats(op.Device)
	if err != nil {
		return d, err
	}
	figures.Each(func(_ string, v int64) { d.Figures = append(d.Figures, v) })
	if !looks {
		return d, nil
	}
	s, err := a.Snapshot()
	if err != nil {
		return d, err
	}
	d.Layout = trace.Layout(&s)
	forgetRequests(d.Layout)
	return d, nil
}

// number is a hash of it, the same in every process.
func (d *did) number() uint64 {
	h := fnv64(14695981039346656037)
	h.text(d.Error)
	h.word(uint64(d.Address))
	for _, e := range d.Entries {
		h.word(uint64(e.Action))
		h.word(uint64(e.Addr))
		h.word(e.Size)
		h.word(uint64(e.Stream))
	}
	for _, v := range d.Figures {
		h.word(uint64(v))
	}
	for i := range d.Layout {
		h.segment(&d.Layout[i])
	}
	return uint64(h)
}

func (h *fnv64) segment(g *spec.Segment) {
	for _, w := range []uint64{
		uint64(g.Device), uint64(g.Address), g.TotalSize, uint64(g.Stream), g.Pool.Capture, g.Pool.User, uint64(g.PoolKind), uint64(len(g.Blocks)),
	} {
		h.word(w)
	}
	for _, b := range g.Blocks {
		h.word(b.Size)
		h.word(b.RequestedSize)
		h.word(uint64(b.State))
	}
}

func textNumber(text string) uint64 {
	h := fnv64(14695981039346656037)
	h.text(text)
	return uint64(h)
}

// fnv64 is the hash FNV-1a, by words.
type fnv64 uint64

func (h *fnv64) word(w uint64) { *h = (*h ^ fnv64(w)) * 1099511628211 }

func (h *fnv64) text(s string) {
	h.word(uint64(len(s)))
	for i := range len(s) {
		h.word(uint64(s[i]))
	}
}
