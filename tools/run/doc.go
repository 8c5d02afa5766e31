// Package run runs a user's program with its own PyTorch on the fake GPU, and tells what its
// allocator did: peak memory, and whether, where and why it ran out of memory.
//
//	libraries.go    the libraries of the fake GPU, found or built
//	environment.go  the environment of the program
//	program.go      the program, its signals and its end
//	answers.go      what its processes have written
//	result.go       the answers together
//	verdict.go      the result in words
//	ranks.go        what each rank reserved
//	late.go         between which figures the peak is if time has a say
//	growth.go       the result compared with an older one
//	assumed.go      which bound the peak is if counts are not known
//	doubts.go       what it rests on that is not known
//
// What is loaded into the program is in the room python. docs/run.md tells users about it.
package run
