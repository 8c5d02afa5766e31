package conformance

import (
	"fmt"
	"strings"

	"gaugeblock/spec/invariant"
)

// A Rule is something that an allocator of a level keeps. Some are the invariants of
// package spec, which are true between any two calls; the others are about the answers
// to calls, about the device, and about the end. conformance/README.md has a section for
// each of the latter, docs/invariants.md for each of the former.
type Rule struct {
	Name     string // a CamelCase word
	Level    Level  // the lowest that asks for it
	Sentence string
	Read     string // where to read about it, relative to the root of the module
}

// ruleOfClass ties the failures of a class to a rule of the kit's own. A class says
// which side of a rule was broken; one that ends in a space is the beginning of several.
type ruleOfClass struct {
	class string
	rule  Rule
}

// rules are the kit's own, in the order of conformance/README.md.
var kitRules = []ruleOfClass{
	{"hazard", safe("NoHazard", "Work on memory comes after all work of earlier owners of the same bytes.")},
	{classReturned, safe("NoHazard", "Work on memory comes after all work of earlier owners of the same bytes.")},
	{classNotThere, safe("NoIllegalAccess", "Work touches only memory that is there.")},
	{probeAccepted, safe("MisuseIsRefused", "A call that makes no sense is refused, with an error of the right type.")},
	{probeChanged, safe("RefusalChangesNothing", "A call that is refused changes neither the memory nor the statistics.")},
	{"null pointer", safe("ZeroBytesAreNull", "A request of zero bytes gives the null pointer, and no other one does.")},
	{"alignment by request", safe("PointersAreAligned", "Addresses are multiples of the smallest block's size.")},
	{"alignment", safe("PointersAreAligned", "Addresses are multiples of the smallest block's size.")},
	{"legal ", safe("LegalCallsSucceed", "A call that makes sense succeeds, unless memory is lacking or the driver fails.")},
	{"out of memory", safe("OutOfMemoryIsTold", "A request that fails for lack of memory says so, by a *spec.OutOfMemoryError.")},
	{classWithMemoryLeft, safe("OutOfMemoryIsTrue", "A request fails for lack of memory only if neither the device nor the limit leaves room.")},
	{classWithMemoryCached, caching("CachedMemoryIsReturned", "Before a request fails for lack of memory, cached memory that would suffice is returned to the driver.")},
	{"out of memory statistics", safe("OutOfMemoryAddsUp", "The bytes in an *spec.OutOfMemoryError add up to what is held.")},
	{"restore delta", safe("RestoreTellsWhatItChanged", "A restore lists what it freed and what it created.")},
	{"not returned", safe("EverythingIsReturned", "When all is freed and the cache emptied, the driver has everything back.")},
	{"leak", safe("EverythingIsReturned", "When all is freed and the cache emptied, the driver has everything back.")},
	{classUnreleased, safe("EverythingIsReturned", "When all is freed and the cache emptied, the driver has everything back.")},
	{classPanic, safe("NoPanics", "No call panics.")},
	{classCrash, safe("NoCrashes", "No call ends the process.")},
	{classHang, safe("NoHangs", "Every call comes back.")},
	{classUnseen, safe("CanBeObserved", "Statistics, snapshots and the inspector answer, or say that they are not supported.")},
	{classLeavesError, caching("LeavesNoError", "No call that succeeds leaves an error of the driver as the thread's last error.")},
	{classLeavesDevice, safe("LeavesTheDevice", "After a call the device is current that was before.")},
	{classRefused, safe("GivesBackWhatItHas", "What is given back to the driver is allocated.")},
	{classNothing, safe("NothingIsStuck", "A call that failed for a fault of the driver succeeds when the fault is over.")},

	{classGivesBack, caching("KeepsWhatItGetsBack", "Memory that is freed is kept, not returned to the driver.")},
	{classAsksAgain, caching("ReuseNeedsNoDriver", "A request is served from free memory that was allocated for as many bytes and for the same stream.")},
	{classUnused, caching("SplitsAndCoalesces", "A request is served from a stretch of freed memory of the same stream that is four times as long.")},
	{classWastes, caching("WasteIsBounded", "What is held is at most three times what was needed, and one buffer for each stream and kind of size.")},

	{departure, Rule{Name: "DecidesAsTheReference", Level: Exact, Sentence: "Every call has the same outcome, address, trace entries and statistics as the reference's."}},
}

func safe(name, sentence string) Rule    { return Rule{Name: name, Level: Safe, Sentence: sentence} }
func caching(name, sentence string) Rule { return Rule{Name: name, Level: Caching, Sentence: sentence} }

// noReuseWhileInUse is the invariant that looks at the order of work from outside.
const noReuseWhileInUse = "NoReuseWhileInUse"

// invariantLevels are the invariants that are not asked for at the lowest level: those
// that speak of PyTorch's sizes, and those without which memory is only wasted.
var invariantLevels = map[string]Level{
	"NoMergeableNeighbours":   Caching,
	"FreeListsHoldFreeBlocks": Caching,
	"SizesAndAlignment":       Exact,
	"RequestsFit":             Exact,
}

// Rules lists all of them: the kit's own, then the invariants.
func Rules() []Rule {
	var rules []Rule
	for _, r := range kitRules {
		if n := len(rules); n == 0 || rules[n-1].Name != r.rule.Name {
			rules = append(rules, r.rule.withDocs())
		}
	}
	for _, inv := range invariant.All() {
		rules = append(rules, ofInvariant(inv))
	}
	return rules
}

func (r Rule) withDocs() Rule {
	r.Read = "conformance/README.md#" + strings.ToLower(r.Name)
	return r
}

func ofInvariant(inv invariant.Invariant) Rule {
	r := Rule{Name: inv.Name, Level: Safe, Sentence: inv.Sentence}
	if level, higher := invariantLevels[inv.Name]; higher {
		r.Level = level
	}
	r.Read = fmt.Sprintf("docs/invariants.md#%d-%s", inv.Number, strings.ToLower(inv.Name))
	return r
}

// ruleOf is the rule that failures of a class break; ok is false for classes that are faults of
// the kit itself.
func ruleOf(class string) (r Rule, ok bool) {
	for _, k := range kitRules {
		if k.class == class || strings.HasSuffix(k.class, " ") && strings.HasPrefix(class, k.class) {
			return k.rule.withDocs(), true
		}
	}
	for _, inv := range invariant.All() {
		if inv.Name == class {
			return ofInvariant(inv), true
		}
	}
	return Rule{}, false
}
