// Package mutants changes the source in small ways, one at a time, and expects a test to fail.
//
//	go test ./tests/mutants -v -timeout 0 -args -try -seed 7 -n 200 alloc            # make mutants
//	go test ./tests/mutants -v -timeout 0 -args -try -kinds lock -race -n 0 alloc   # make locks
//
// A mutant that does not compile does not count. One that no test notices must be in
// testdata/equivalent.txt, with the reason why it changes nothing that can be seen;
// otherwise the exit status is 1. Without -try the tests of this package are run.
package mutants
