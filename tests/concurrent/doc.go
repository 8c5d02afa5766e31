// Package concurrent calls every method of alloc.Allocator from many goroutines at once, on
// several devices, while driver calls fail. Under the race detector it finds missing locks:
//
//	go test -race ./tests/concurrent
//	go test -race ./tests/concurrent -args -goroutines 32
//	make locks                                 # removes each lock of alloc/, and expects to be told
//
// The goroutines share nothing but the allocator and the fake GPU. So the race detector sees no
// order between them but the one that these make.
package concurrent
