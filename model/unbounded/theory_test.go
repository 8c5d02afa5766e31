package unbounded

// A sort is a set of things, of any size.
type sort string

const (
	unit       sort = "U" // of memory
	stream     sort = "S"
	allocation sort = "H" // what one malloc returned
	piece      sort = "W" // of work
	event      sort = "E"
)

// A function is a relation, or has values of a sort.
type function struct {
	name      string
	arguments []sort
	value     sort // "" for a relation
	says      string
}

// rigid are the functions that no move changes.
var rigid = []function{
	{"streamOf", []sort{allocation}, stream, "the stream of the request"},
	{"worksIn", []sort{piece}, stream, "the stream that the work is in"},
	{"recordedIn", []sort{event}, stream, "the stream that the event is in"},
}

// state is the relations that moves change. The first ones are the truth: what the program
// and the device did. The others are what the allocator knows.
var state = []function{
	{"granted", []sort{unit, stream}, "", "the driver has granted the unit to a malloc for the stream"},
	{"held", []sort{unit, allocation}, "", "the program may use the unit"},
	{"touched", []sort{allocation, stream}, "", "another stream uses it, on the device"},
	{"captured", []sort{allocation, stream}, "", "another stream uses it, in a graph"},
	{"pending", []sort{piece}, "", "the work is to be done"},
	{"works", []sort{piece, unit}, "", "the work uses the unit"},
	{"behind", []sort{event, piece}, "", "the event completes after the work"},

	{"segment", []sort{unit, stream}, "", "the unit is in a segment of the stream"},
	{"allocated", []sort{unit, allocation}, "", "the unit is in the block of the allocation"},
	{"uses", []sort{allocation, stream}, "", "a stream use of the block"},
	{"captureUses", []sort{allocation, stream}, "", "a stream use that was recorded in a capture"},
	{"deferred", []sort{unit, allocation}, "", "the unit is in a block whose free is deferred"},
	{"outstanding", []sort{event}, "", "the event is not known to be complete"},
	{"covers", []sort{event, unit}, "", "the unit is in the event's block"},
}

// free: the unit is in no allocated block and in none that waits.
const free = `(and (exists ((s S)) (segment u s))
	(forall ((h H)) (and (not (allocated u h)) (not (deferred u h))))
	(forall ((e E)) (not (and (outstanding e) (covers e u)))))`

// A property of states.
type property struct{ name, formula string }

// goals are the promise.
var goals = []property{
	{"LiveBlocksDisjoint", `(forall ((u U) (h H) (k H)) (=> (and (held u h) (held u k)) (= h k)))`},
	{"NoReuseWhileInUse", `(and
		(forall ((u U) (h H) (w W)) (=> (and (held u h) (pending w) (works w u)) (= (worksIn w) (streamOf h))))
		(forall ((u U) (h H) (s S)) (=> (and (held u h) (granted u s)) (= s (streamOf h)))))`},
	{"WhatIsHeldBelongs", `(forall ((u U) (h H)) (=> (held u h) (granted u (streamOf h))))`},
}

// rules are about moves: what a malloc takes is MayBeTaken of AbstractMemory.tla, for allocators
// that let no stream wait; and what is granted to a stream has no work of another pending.
var rules = map[string]property{
	"Malloc": {"MayBeTaken", `(forall ((u U)) (=> (requested u) (and
		(forall ((k H)) (not (held u k)))
		(forall ((w W)) (=> (and (pending w) (works w u)) (= (worksIn w) (streamOf a))))
		(forall ((s S)) (=> (granted u s) (= s (streamOf a)))))))`},
	"Grant": {"GrantedIsIdle", `(forall ((u U) (w W)) (=> (and (memory u) (pending w) (works w u)) (= (worksIn w) x)))`},
}

// lemmas are what the goals follow from.
var lemmas = []property{
	{"MemoryIsGrantedOnce", `(forall ((u U) (s S) (t S)) (=> (and (granted u s) (granted u t)) (= s t)))`},
	{"SegmentsWereGranted", `(forall ((u U) (s S)) (=> (segment u s) (granted u s)))`},
	{"BlocksAreInSegments", `(forall ((u U) (h H)) (=> (or (allocated u h) (deferred u h)) (segment u (streamOf h))))`},
	{"BlocksAreDisjoint", `(forall ((u U) (h H) (k H))
		(=> (and (or (allocated u h) (deferred u h)) (or (allocated u k) (deferred u k))) (= h k)))`},
	{"AllocatedIsNotDeferred", `(forall ((u U) (v U) (h H)) (not (and (allocated u h) (deferred v h))))`},
	{"AllocatedBlocksWereGivenOut", `(forall ((u U) (h H)) (=> (held u h) (allocated u h)))`},
	{"UsesWereTouched", `(forall ((h H) (s S)) (=> (touched h s) (and (uses h s) (not (captureUses h s)))))`},
	{"DeferredBlocksAreNotTouched", `(forall ((u U) (h H) (s S)) (=> (deferred u h) (not (touched h s))))`},
	{"CaptureUsesWereCaptured", `(forall ((h H) (s S) (u U)) (=> (and (captureUses h s) (allocated u h)) (captured h s)))`},
	{"EventsNameHeldBlocks", `(forall ((e E) (u U)) (=> (and (outstanding e) (covers e u)) (and
		(exists ((s S)) (segment u s))
		(forall ((h H)) (and (not (allocated u h)) (not (deferred u h)))))))`},
	{"WorkIsAwaited", `(forall ((w W) (u U)) (=> (and (pending w) (works w u)) (or
		(granted u (worksIn w))
		(exists ((e E)) (and (outstanding e) (covers e u) (behind e w)))
		(exists ((h H)) (and (deferred u h) (uses h (worksIn w)) (not (captureUses h (worksIn w))))))))`},
}
