// Package fit finds the largest value of a variable, such as the batch size, with which a program
// does not run out of memory: it runs the program on the fake GPU (tools/run) again and again.
//
//	variable.go   the variable, and how the program gets its value
//	search.go     which value is tried next
//	fit.go        one run of the program, and the search on one GPU
//	table.go      the answers in words
//
// That a larger value needs more memory is an assumption. The values beside the answer are tried
// too, so that a program of which it is not true may be noticed.
package fit
