package explore

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// A fingerprint is half of the SHA-256 of a key.
type fingerprint [2]uint64

func fingerprintOf(key []byte) fingerprint {
	sum := sha256.Sum256(key)
	return fingerprint{binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])}
}

// partCount is the number of parts of the known states. It is constant, so that no result
// depends on the number of workers.
const partCount = 1 << 10

// part is the part that a state belongs to.
func (f fingerprint) part() int { return int(f[0] % partCount) }

// A Sum is two sums, modulo 2^64, of hashes of distinct things. It does not depend on their
// order, so that the sums of disjoint sets can be added.
type Sum [2]uint64

// Add is the sum of the things of both.
func (s Sum) Add(t Sum) Sum { return Sum{s[0] + t[0], s[1] + t[1]} }

// String is the sum in hexadecimal.
func (s Sum) String() string { return fmt.Sprintf("%016x%016x", s[1], s[0]) }

// MarshalText implements encoding.TextMarshaler.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Sum) UnmarshalText(text []byte) error {
	if n, err := fmt.Sscanf(string(text), "%016x%016x", &s[1], &s[0]); n != 2 || err != nil || len(text) != 32 {
		return fmt.Errorf("%q is not a sum of 128 bits", text)
	}
	return nil
}

// edgeHash is a hash of an edge.
func edgeHash(from fingerprint, label int, to fingerprint) Sum {
	l := mix(uint64(label) + 1)
	return Sum{mix(from[0] ^ mix(to[0]^l)), mix(from[1] ^ mix(to[1]^l))}
}

// mix is a permutation of 64 bits, in which each bit of the argument changes about half of
// the bits of the result: the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
