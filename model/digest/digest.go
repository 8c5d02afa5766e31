// Package digest reduces a graph of states to two hashes, so that the graphs of two
// programs can be compared without the graphs.
//
// A state is its canonical text, which tlc.Canonical defines: for each variable, in order
// of the names, a line "name=value". An edge is a state, a label and a state; a label is
// the name of an action with its arguments: "Malloc(1,3)".
//
//	sum of a text      SHA-256(text)
//	sum of an edge     SHA-256(sum of the source, sum of the label, sum of the target)
//	digest of a set    SHA-256(its distinct sums, in ascending order), in hexadecimal
//
// Sums are sorted, not texts, so that no text is kept.
package digest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// A Sum is the hash of a text or an edge.
type Sum [sha256.Size]byte

// Text is the sum of a state's text, or of a label.
func Text(text []byte) Sum { return sha256.Sum256(text) }

// Edge is the sum of an edge.
func Edge(from, label, to Sum) Sum {
	var all [3 * sha256.Size]byte
	copy(all[:], from[:])
	copy(all[sha256.Size:], label[:])
	copy(all[2*sha256.Size:], to[:])
	return sha256.Sum256(all[:])
}

// Of is the digest of the set of some sums.
func Of(sums []Sum) string {
	hash := sha256.New()
	for _, s := range Distinct(sums) {
		hash.Write(s[:])
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Distinct is the sums in ascending order, each once.
func Distinct(sums []Sum) []Sum {
	sorted := slices.Clone(sums)
	slices.SortFunc(sorted, func(a, b Sum) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(sorted)
}
