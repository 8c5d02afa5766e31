// Package upstream is what is known of PyTorch's releases, as data: the decisions in which
// they differ (Rules) and the releases, each with what it changes (Releases).
//
// An implementation of the allocator takes Rules as it takes settings. It asks a field where
// the decision is made and never asks for a release: so a release that is new, or one that has
// another's change back-ported, is a new entry of the table in releases.go, and a rule that
// none had before is a field more.
//
// A field that is incomplete fails a test: TestEveryRuleIsRead and TestEveryValueIsHeld
// (tests/releases: it is read in alloc and model, and a recording holds each value),
// TestRulesHaveTranscripts (alloc) and TestDocuments (here). docs/changing.md has the order.
package upstream
