// Command machine is the fake machine as a shared library, libgaugeblock_machine.so: what
// libcuda.so.1 of the fake GPU loads in a program that has no Go. The environment says what
// the machine is like. There is nothing to it as a program.
package main

func main() {}
