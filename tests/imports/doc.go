// Package rooms holds the structure of the project: which folder may import which
// (rooms_test.go), and that the lists of docs/changing.md name what is there
// (changing_test.go).
package imports
