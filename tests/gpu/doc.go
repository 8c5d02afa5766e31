// Package gpu tests what a real device is needed for, and holds the fake device
// against it. Everything that can be is run twice, on both: where they differ, the fake
// one is wrong. On a machine without a GPU the real half is skipped, and says why.
//
//	contract_test.go     conversations with a device, the same answers from both
//	streams_test.go      memory is reused behind held streams; wrong reuse shows as wrong bytes
//	ownership_test.go    the same by random programs
//	memory_test.go       expandable segments and real exhaustion
//	graphs_test.go       graphs in private pools, launched again and again
//	processes_test.go    memory shared between two processes
//	peers_test.go        two devices
//	threads_test.go      goroutines that move between threads
//	close_test.go        everything is given back, lost_test.go: or cannot be
//	recorded_test.go     traces recorded on a real GPU, replayed on the fake one
//	conformance_test.go  conformance, unchanged, on a device that shadows the fake one
//	shadow*_test.go      that device
//	findings/            Python scripts that show faults of PyTorch, without anything of ours
//	fakecuda_test.go     all of it on the libraries of fakegpu/cuda
//
// The test binary is all that has to be carried to a GPU machine (make gpu-suite);
// cudaimpl/README.md says how to run it. It leaves a summary in the file that
// GAUGEBLOCK_SUMMARY names. It changes no setting of any device, and gives back what it
// takes.
package gpu
