package snapshot

import (
	"path"
	"slices"
	"strings"
)

// ProgramFrame is the frame to show of a call stack: the innermost one that is Python and
// not in a library. Without one it is the innermost Python frame, or else the innermost
// frame that is not PyTorch's own C++. ok is false if the stack is empty.
func (f Frames) ProgramFrame() (frame Frame, ok bool) {
	if i := f.ProgramIndex(); i >= 0 {
		return *f[i], true
	}
	return Frame{}, false
}

// ProgramIndex is the index of ProgramFrame, -1 if the stack is empty.
func (f Frames) ProgramIndex() int {
	for _, wanted := range []func(*Frame) bool{
		func(f *Frame) bool { return f.IsPython() && !f.isLibrary() },
		(*Frame).IsPython,
		func(f *Frame) bool {
			return strings.Contains(f.Name, "Backward") && strings.Contains(f.Name, "::apply")
		},
		func(f *Frame) bool {
			return f.Filename != "" && f.Filename != "??" && !slices.Contains(startsThreads, f.Name) && !strings.HasPrefix(f.Name, "c10::") && !strings.HasPrefix(f.Name, "torch::") && !strings.HasPrefix(f.Name, "at::")
		},
	} {
		for i := range f {
			if wanted(f[i]) {
				return i
			}
		}
	}
	return min(len(f), 1) - 1
}

// startsThreads are functions that begin a thread, and say nothing of the program.
var startsThreads = []string{"execute_native_thread_routine", "start_thread", "clone", "clone3", "__clone", "__clone3", "_start", "thread_start"}

// IsPython reports whether a frame is one of Python code. C++ frames are recorded too by
// default; their file is "??", or that of a C++ source or a shared library.
func (f *Frame) IsPython() bool {
	name := f.Filename
	switch path.Ext(name) {
	case ".py", ".pyx", ".ipynb":
		return true
	case ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hxx", ".cu", ".cuh", ".so", ".S", ".inl":
		return false
	}
	// Code without a file has a name in brackets: <stdin>, <ipython-input-3-...>, <string>.
	if strings.HasPrefix(name, "<") && strings.HasSuffix(name, ">") {
		return true
	}
	return name != "" && name != "??" && !strings.Contains(f.Name, "::") && !strings.Contains(name, ".so.") && !strings.Contains(f.Name, "(")
}

// isLibrary reports whether the code of a Python frame is that of an installed package or
// of Python itself.
func (f *Frame) isLibrary() bool {
	name := strings.ReplaceAll(f.Filename, "\\", "/")
	for _, folder := range libraryFolders {
		if strings.Contains(name, folder) {
			return true
		}
	}
	return strings.HasPrefix(name, "torch/")
}

// libraryFolders are parts of the file names of libraries: installed packages, Python
// itself, and PyTorch built from source.
var libraryFolders = []string{
	"site-packages/", "dist-packages/", "<frozen ", "lib/python",
	"/torch/nn/", "/torch/_", "/torch/optim/", "/torch/autograd/", "/torch/utils/", "/torch/cuda/", "/torch/distributed/", "/torch/amp/",
}

// Calls reports whether a function of one of the names is in the call stack, of Python or
// of C++. In a C++ name, which may have its parameters, it is the last part.
func (f Frames) Calls(names ...string) bool {
	for i := range f {
		called, _, _ := strings.Cut(f[i].Name, "(")
		if at := strings.LastIndex(called, "::"); at >= 0 {
			called = called[at+2:]
		}
		for _, name := range names {
			if called == name {
				return true
			}
		}
	}
	return false
}
