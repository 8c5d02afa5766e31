// Package upstream is what is known of PyTorch's releases, as data: the decisions in which
// they differ (Rules) and the releases, each with what it changes (Releases).
//
// An implementation of the allocator takes Rules as it takes settings. It asks a field where
// the decision is made and never asks for a release: so a release that is new, or one that has
// another's change back-ported, is a new entry of the table in releases.go. A decision that none had
// before is a field more, or a new value of a field.
//
// The decision itself is made in alloc and in model, each in the file that has it, and is a constant of
// the specification (tla/Defaults.tla). A field that one of them lacks fails a test: TestEveryRuleIsRead
// and TestEveryValueIsHeld (tests/releases: it is read in alloc and model, and a recording or a library
// of PyTorch has each value), TestRulesHaveTranscripts (alloc) and TestDocuments (here).
// docs/changing.md has the order.
package upstream
