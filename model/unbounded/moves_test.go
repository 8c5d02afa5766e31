package unbounded

// A move is one thing that can happen. Its parameters are chosen by whoever makes it: things,
// and sets of things, and functions from streams to new things.
type move struct {
	name       string
	parameters []function // those without arguments are things
	guard      string
	after      map[string]string // the new values of relations, by name; others stay
}

// variables are the names of the arguments of a relation in after.
var variables = map[sort]string{unit: "u", stream: "s", allocation: "h", piece: "w", event: "e"}

func thing(name string, s sort) function { return function{name: name, value: s} }
func set(name string, s sort) function   { return function{name: name, arguments: []sort{s}} }
func fresh(name string, s sort) function {
	return function{name: name, arguments: []sort{stream}, value: s}
}

// Parts of moves. The program uses memory for the last time in each stream before it frees
// it: newWork is that stream's work. newEvent is the event that is recorded for a stream use. Before
// memory is returned the work on it of the stream that it was granted for is waited for.
const (
	isBlock      = `(exists ((u U)) (allocated u a))`
	isIdle       = `(forall ((w W)) (=> (and (pending w) (works w u)) (not (granted u (worksIn w)))))`
	isDeferred   = `(exists ((u U)) (deferred u a))`
	freshWork    = `(forall ((s S)) (and (= (worksIn (newWork s)) s) (not (pending (newWork s)))))`
	freshEvents  = `(forall ((s S)) (and (= (recordedIn (newEvent s)) s) (not (outstanding (newEvent s)))))`
	isNewWork    = `(and (= w (newWork (worksIn w))) (touched a (worksIn w)))`
	pendingAfter = `(or (pending w) ` + isNewWork + `)`
	worksAfter   = `(ite ` + isNewWork + ` (held u a) (works w u))`
	isNewEvent   = `(and (= e (newEvent (recordedIn e))) (uses a (recordedIn e)))`
	isLateEvent  = `(and (= e (newEvent (recordedIn e))) (uses a (recordedIn e)) (not (captureUses a (recordedIn e))))`
)

// moves lists them. Units that are mapped or unmapped are granted and released; waiting is
// the completion of work.
var moves = []move{
	{
		name: "Complete", parameters: []function{thing("x", piece)},
		guard: `(pending x)`,
		after: map[string]string{"pending": `(and (pending w) (not (= w x)))`},
	},
	{
		name: "CompleteEvent", parameters: []function{thing("x", event)},
		guard: `(and (outstanding x) (forall ((w W)) (=> (behind x w) (not (pending w)))))`,
		after: map[string]string{"outstanding": `(and (outstanding e) (not (= e x)))`},
	},
	{
		name: "Grant", parameters: []function{thing("x", stream), set("memory", unit)},
		guard: `(forall ((u U) (s S)) (=> (memory u) (not (granted u s))))`,
		after: map[string]string{"granted": `(or (granted u s) (and (memory u) (= s x)))`},
	},
	{
		name: "Register", parameters: []function{thing("x", stream), set("memory", unit)},
		guard: `(forall ((u U)) (=> (memory u) (granted u x)))`,
		after: map[string]string{"segment": `(or (segment u s) (and (memory u) (= s x)))`},
	},
	{
		name: "Release", parameters: []function{set("memory", unit)},
		guard: `(forall ((u U)) (=> (memory u) (and ` + free + ` ` + isIdle + `)))`,
		after: map[string]string{
			"granted": `(and (granted u s) (not (memory u)))`,
			"segment": `(and (segment u s) (not (memory u)))`,
		},
	},
	{
		name: "Malloc", parameters: []function{thing("a", allocation), set("block", unit), set("requested", unit)},
		guard: `(and
			(forall ((u U)) (and (not (allocated u a)) (not (deferred u a)) (not (held u a))))
			(forall ((s S)) (not (or (touched a s) (captured a s) (uses a s) (captureUses a s))))
			(forall ((u U)) (=> (requested u) (block u)))
			(forall ((u U)) (=> (block u) (and (segment u (streamOf a)) ` + free + `))))`,
		after: map[string]string{
			"allocated": `(or (allocated u h) (and (= h a) (block u)))`,
			"held":      `(or (held u h) (and (= h a) (requested u)))`,
		},
	},
	{
		name: "RecordStream", parameters: []function{thing("a", allocation), thing("x", stream)},
		guard: `(and ` + isBlock + ` (not (= x (streamOf a))) (not (captured a x)))`,
		after: map[string]string{
			"touched": `(or (touched h s) (and (= h a) (= s x)))`,
			"uses":    `(or (uses h s) (and (= h a) (= s x)))`,
		},
	},
	{
		name: "RecordStreamInCapture", parameters: []function{thing("a", allocation), thing("x", stream)},
		guard: `(and ` + isBlock + ` (not (= x (streamOf a))) (not (touched a x)))`,
		after: map[string]string{
			"captured":    `(or (captured h s) (and (= h a) (= s x)))`,
			"uses":        `(or (uses h s) (and (= h a) (= s x)))`,
			"captureUses": `(or (captureUses h s) (and (= h a) (= s x)))`,
		},
	},
	{
		name: "RecordStreamUnmarked", parameters: []function{thing("a", allocation), thing("x", stream)},
		guard: `(and ` + isBlock + ` (not (= x (streamOf a))))`,
		after: map[string]string{
			"captured": `(or (captured h s) (and (= h a) (= s x)))`,
			"uses":     `(or (uses h s) (and (= h a) (= s x)))`,
		},
	},
	{
		name: "Launch", parameters: []function{thing("a", allocation), thing("x", piece)},
		guard: `(and ` + isBlock + ` (= (worksIn x) (streamOf a)) (not (pending x)))`,
		after: map[string]string{
			"pending": `(or (pending w) (= w x))`,
			"works":   `(ite (= w x) (held u a) (works w u))`,
			"behind":  `(and (behind e w) (not (= w x)))`,
		},
	},
	{
		name: "Free", parameters: []function{thing("a", allocation), fresh("newWork", piece), fresh("newEvent", event)},
		guard: `(and ` + isBlock + ` ` + freshWork + ` ` + freshEvents + `)`,
		after: map[string]string{
			"pending": pendingAfter, "works": worksAfter,
			"outstanding": `(or (outstanding e) ` + isNewEvent + `)`,
			"covers":      `(ite ` + isNewEvent + ` (allocated u a) (covers e u))`,
			"behind": `(ite ` + isNewEvent + ` (and (= (worksIn w) (recordedIn e)) ` + pendingAfter + `)
				(and (behind e w) (not ` + isNewWork + `)))`,
			"allocated": notOf("(allocated u h)"), "held": notOf("(held u h)"),
			"touched": notOf("(touched h s)"), "captured": notOf("(captured h s)"),
			"uses": notOf("(uses h s)"), "captureUses": notOf("(captureUses h s)"),
		},
	},
	{
		name: "DeferFree", parameters: []function{thing("a", allocation), fresh("newWork", piece)},
		guard: `(and ` + isBlock + ` ` + freshWork + `)`,
		after: map[string]string{
			"pending": pendingAfter, "works": worksAfter,
			"behind":    `(and (behind e w) (not ` + isNewWork + `))`,
			"deferred":  `(or (deferred u h) (and (= h a) (allocated u a)))`,
			"allocated": notOf("(allocated u h)"), "held": notOf("(held u h)"),
			"touched": notOf("(touched h s)"), "captured": notOf("(captured h s)"),
		},
	},
	{
		name: "ResolveDeferred", parameters: []function{thing("a", allocation), fresh("newEvent", event)},
		guard: `(and ` + isDeferred + ` ` + freshEvents + `)`,
		after: map[string]string{
			"outstanding": `(or (outstanding e) ` + isLateEvent + `)`,
			"covers":      `(ite ` + isLateEvent + ` (deferred u a) (covers e u))`,
			"behind":      `(ite ` + isLateEvent + ` (and (= (worksIn w) (recordedIn e)) (pending w)) (behind e w))`,
			"deferred":    notOf("(deferred u h)"),
			"uses":        notOf("(uses h s)"), "captureUses": notOf("(captureUses h s)"),
		},
	},
}

func notOf(relation string) string { return `(and ` + relation + ` (not (= h a)))` }
