package digest_test

import (
	"crypto/sha256"
	"slices"
	"testing"

	"gaugeblock/model/digest"
)

// TestOf: a digest is of a set. Neither order nor repetition counts; everything else
// does, the direction of an edge as well.
func TestOf(t *testing.T) {
	a, b, up := digest.Text([]byte("x=1")), digest.Text([]byte("x=2")), digest.Text([]byte("Up"))
	same := digest.Of([]digest.Sum{a, b})
	if digest.Of([]digest.Sum{b, a, b}) != same {
		t.Error("order or repetition counts")
	}
	seen := map[string]bool{same: true}
	for i, sums := range [][]digest.Sum{
		nil, {a}, {b},
		{digest.Edge(a, up, b)}, {digest.Edge(b, up, a)}, {digest.Edge(a, b, up)},
	} {
		d := digest.Of(sums)
		if seen[d] {
			t.Errorf("set %d has the digest of another", i)
		}
		seen[d] = true
	}
	// SHA-256 of nothing: what is in a manifest can be computed by hand.
	if got := digest.Of(nil); got != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("the digest of nothing is %s", got)
	}
}

// TestEdge: the sum of an edge is that of its three sums, one behind another.
func TestEdge(t *testing.T) {
	from, label, to := digest.Text([]byte("x=1")), digest.Text([]byte("Up")), digest.Text([]byte("x=2"))
	if got := digest.Edge(from, label, to); got != sha256.Sum256(slices.Concat(from[:], label[:], to[:])) {
		t.Errorf("%x", got)
	}
	if all := digest.Distinct([]digest.Sum{{9}, {1}, {9}, {4}}); !slices.Equal(all, []digest.Sum{{1}, {4}, {9}}) {
		t.Errorf("%v", all)
	}
}
