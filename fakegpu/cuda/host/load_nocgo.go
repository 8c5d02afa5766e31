//go:build !cgo || !linux

package host

import "errors"

// Available: the libraries can be loaded into this program.
const Available = false

// Attach makes a process the one that the libraries see. Without cgo there are none.
func Attach(*Process) {}

// Load loads the libraries into this program.
func Load(string) error {
	return errors.New("the libraries of the fake GPU cannot be loaded: this program was built without cgo, or not for Linux")
}
