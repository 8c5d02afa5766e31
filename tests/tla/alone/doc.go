// Package alone explores the model with its properties, and compares it with nothing: neither with
// the specification, nor with recordings, nor with the code. What these tests notice of a mistake
// in the model is noticed when the specification has the same mistake. So "make alone" makes each
// small change of package model that tests/mutants knows, and runs these tests.
package alone
