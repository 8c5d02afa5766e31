// Package host is the machine behind the libraries of fakegpu/cuda: it answers the calls of
// libcudart.so and libcuda.so from a fakegpu.GPU. A Go program that loads the libraries
// (Load) is the machine itself, and says which GPU they see (Attach); in a program without
// Go the machine is a library of its own (../machine), set up from the environment
// (FromEnvironment).
//
// It needs cgo. Without it, Load says so.
package host
