// Package zoo runs the kit on real bugs of real allocators: on the last commit before a fix,
// where the bug is to be found, and on the fix, where nothing is. zoo.txt has the bugs,
// tools/foreign builds the allocators, and tools/zoo/README.md has what came of it.
package zoo
