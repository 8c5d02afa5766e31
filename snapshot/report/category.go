package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// What memory is for is not in a history. The user may tell it, by patterns. Otherwise it is guessed from call stacks: they tell the
// phase of the program in which memory was allocated, and the history tells whether it was
// still allocated when the next phase began. The page calls it a guess, with the reason.

// category is what memory is for.
type category uint8

const (
	uncategorized category = iota
	parameters
	gradients
	optimizerState
	activations
	temporaries
	numCategories
)

// categoryTexts are the names on the page, and how a category is recognised.
var categoryTexts = [numCategories][2]string{
	{"not known", "the call stack tells none of the others, or there is none"},
	{"parameters", "allocated when a module was made, moved (to, cuda) or loaded"},
	{"gradients", "allocated in the backward pass, and still allocated when the optimizer's next step, or the end of the history, came"},
	{"optimizer state", "allocated by an optimizer's step, and still allocated when the next forward or backward pass, or the end of the history, came"},
	{"activations", "allocated in the forward pass, and still allocated when the next backward pass, or the end of the history, came"},
	{"temporary", "allocated and freed within one forward pass, backward pass or optimizer's step"},
}

// A Pattern is a category of the user's own: the memory that was allocated below a frame that matches,
// as "file:line function". Of several patterns that match the first counts.
type Pattern struct {
	Name  string
	Match *regexp.Regexp
}

// MaxPatterns is how many there may be: a category is a byte.
const MaxPatterns = 100

// ParsePattern reads NAME=REGEXP.
func ParsePattern(text string) (p Pattern, err error) {
	name, expression, found := strings.Cut(text, "=")
	if !found || name == "" || expression == "" {
		return p, fmt.Errorf("%q is not a category: write NAME=REGEXP", text)
	}
	p.Name = name
	p.Match, err = regexp.Compile(expression)
	return p, err
}

// categories say what memory is for: by the user's patterns, or else by a guess.
type categories struct {
	patterns []Pattern
	at       []category  // of each pattern; several may have one name
	texts    [][2]string // name, and how it is recognised; by category
	known    map[*snapshot.Context]category
}

func newCategories(patterns []Pattern) *categories {
	c := &categories{patterns: patterns, texts: categoryTexts[:], known: map[*snapshot.Context]category{}}
	if len(patterns) == 0 {
		return c
	}
	c.texts = [][2]string{{"none of the patterns", "no frame of the call stack matches one, or there is none"}}
	for _, p := range patterns {
		at := slices.IndexFunc(c.texts, func(known [2]string) bool { return known[0] == shorten(p.Name) })
		if at < 1 {
			at = len(c.texts)
			c.texts = append(c.texts, [2]string{shorten(p.Name), "a frame matches "})
		} else {
			c.texts[at][1] += " or "
		}
		c.texts[at][1] = shortenEnd(c.texts[at][1]+p.Match.String(), maxNote)
		c.at = append(c.at, category(at))
	}
	return c
}

// own reports whether the categories are the user's.
func (c *categories) own() bool { return len(c.patterns) > 0 }

// ofFrames is the category of a call stack by the patterns.
func (c *categories) ofFrames(frames snapshot.Frames) category {
	for i, p := range c.patterns {
		for _, f := range frames {
			if p.Match.MatchString(fmt.Sprintf("%s:%d %s", f.Filename, f.Line, f.Name)) {
				return c.at[i]
			}
		}
	}
	return uncategorized
}

// ofEntries are the categories of the alloc entries. It is nil if no entry has a call stack.
func (c *categories) ofEntries(trace []snapshot.TraceEntry) []category {
	if !c.own() {
		return classify(trace)
	}
	if !hasStacks(trace) {
		return nil
	}
	of := make([]category, len(trace))
	for i := range trace {
		if e := &trace[i]; e.Action == spec.ActionAlloc {
			is, known := c.known[e.Context]
			if !known {
				is = c.ofFrames(e.Context.Frames)
				c.known[e.Context] = is
			}
			of[i] = is
		}
	}
	return of
}

// ofStart is the category of what was allocated before the history.
func (c *categories) ofStart(frames snapshot.Frames) category {
	if c.own() {
		return c.ofFrames(frames)
	}
	switch phaseOf(frames) {
	case loading:
		return parameters
	case optimizing:
		return optimizerState
	}
	return uncategorized
}

// phase is what the program does when it allocates memory. Where a call stack tells two, the
// later one of the list counts: a module that is called in the backward pass is part of it.
type phase uint8

const (
	otherPhase phase = iota
	forward
	loading
	backward
	optimizing
	numPhases
)

// lasting is the category of memory that outlives its phase.
var lasting = [numPhases]category{forward: activations, backward: gradients, optimizing: optimizerState}

// ends lists, for the phase that begins, the phases that are over then.
var ends = [numPhases][]phase{
	forward: {optimizing}, backward: {forward, optimizing}, optimizing: {backward},
}

// classify guesses the category of each alloc entry. It is nil if no entry has a call stack.
func classify(trace []snapshot.TraceEntry) []category {
	if !hasStacks(trace) {
		return nil
	}
	c := classifier{categories: make([]category, len(trace)), phases: map[*snapshot.Context]phase{}, blocks: map[spec.Ptr]openBlock{}}
	for i := range trace {
		switch e := &trace[i]; e.Action {
		case spec.ActionAlloc:
			c.allocate(i, e)
		case spec.ActionFreeRequested, spec.ActionFreeCompleted:
			delete(c.blocks, e.Addr)
		}
	}
	for p := range numPhases {
		c.end(p)
	}
	return c.categories
}

func hasStacks(trace []snapshot.TraceEntry) bool {
	for i := range trace {
		if trace[i].Action == spec.ActionAlloc && len(trace[i].Context.Frames) > 0 {
			return true
		}
	}
	return false
}

// classifier reads a history from its start.
type classifier struct {
	categories []category
	phases     map[*snapshot.Context]phase
	blocks     map[spec.Ptr]openBlock
	open       [numPhases][]spec.Ptr // allocated since the phase began; each is looked at once
	now        phase
}

// openBlock is an allocated block whose category is not decided.
type openBlock struct {
	entry int
	phase phase
}

func (c *classifier) allocate(i int, e *snapshot.TraceEntry) {
	p, known := c.phases[e.Context]
	if !known {
		p = phaseOf(e.Context.Frames)
		c.phases[e.Context] = p
	}
	switch p {
	case otherPhase:
		return
	case loading:
		c.categories[i] = parameters
		return
	}
	if p != c.now {
		c.now = p
		for _, over := range ends[p] {
			c.end(over)
		}
	}
	c.categories[i] = temporaries
	c.blocks[e.Addr] = openBlock{i, p}
	c.open[p] = append(c.open[p], e.Addr)
}

// end ends a phase: what is still allocated outlives it.
func (c *classifier) end(p phase) {
	for _, at := range c.open[p] {
		if b, allocated := c.blocks[at]; allocated && b.phase == p {
			c.categories[b.entry] = lasting[p]
			delete(c.blocks, at)
		}
	}
	c.open[p] = c.open[p][:0]
}

// optimizers are where optimizers are.
var optimizers = []string{"torch/optim/", "apex/optimizers/", "bitsandbytes/optim/", "deepspeed/ops/adam/", "transformer_engine/pytorch/optimizers/", "megatron/core/optimizer/"}

// loaders are functions that allocate parameters, those of modules and others.
var (
	moduleLoaders = []string{"__init__", "_apply", "convert", "to", "to_empty", "cuda", "reset_parameters"}
	loaders       = []string{"from_pretrained", "load_state_dict", "_load_pretrained_model"}
)

// phaseOf guesses the phase from a call stack. The thread of the autograd engine runs the
// backward pass and has no Python frames.
func phaseOf(frames snapshot.Frames) phase {
	found := otherPhase
	if len(frames) == 0 {
		return backward
	}
	for _, f := range frames {
		p := otherPhase
		inModules := strings.Contains(f.Filename, "torch/nn/modules/")
		switch {
		case slices.ContainsFunc(optimizers, func(part string) bool { return strings.Contains(f.Filename, part) }):
			p = optimizing
		case strings.Contains(f.Filename, "torch/autograd/"), strings.Contains(f.Name, "autograd::Engine"), f.Name == "backward":
			p = backward
		case inModules && slices.Contains(moduleLoaders, f.Name), slices.Contains(loaders, f.Name):
			p = loading
		case inModules, strings.Contains(f.Filename, "torch/nn/functional"), f.Name == "forward":
			p = forward
		}
		found = max(found, p)
	}
	return found
}
