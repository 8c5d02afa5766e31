// Package upstream is what is known of PyTorch's releases, as data: the decisions in which
// they differ (Rules) and the releases, each with what it changes (Releases).
//
// An implementation of the allocator takes Rules as it takes settings. It asks a field where
// the decision is made and never asks for a release: so a release that is new, or one that has
// another's change back-ported, is a new entry of the table in releases.go, and a rule that
// none had before is a field more.
package upstream
