package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"gaugeblock/internal/quote"
	memoryreport "gaugeblock/snapshot/report"
)

// rankPages are the pages of ranks, in a hidden folder until it is known which iteration is shown, and
// the files that they become.
type rankPages struct {
	folder  string // that is written into
	hidden  string
	made    map[[2]int]bool // by iteration and rank
	outputs map[string]*memoryreport.Output
	writing atomic.Pointer[memoryreport.Output]
}

// newRankPages makes the folder, if it is not there. end removes what is not wanted, also when a signal
// ends the process.
func newRankPages(folder string) (pages *rankPages, end func(), err error) {
	_, before := os.Stat(folder)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, nil, notMade(folder, err)
	}
	pages = &rankPages{folder: folder, made: map[[2]int]bool{}, outputs: map[string]*memoryreport.Output{}}
	pages.hidden, err = os.MkdirTemp(folder, ".pages-")
	if err != nil {
		return nil, nil, notMade(folder, err)
	}
	remove := func() {
		if out := pages.writing.Load(); out != nil {
			out.Abandon()
		}
		os.RemoveAll(pages.hidden)
		if before != nil {
			os.Remove(folder) // if it is empty
		}
	}
	ended := atSignal(remove, always)
	return pages, func() {
		ended()
		remove()
	}, nil
}

// notMade is an error about the folder, not about what is hidden in it.
func notMade(folder string, err error) error {
	if hidden := new(fs.PathError); errors.As(err, &hidden) {
		err = hidden.Err
	}
	return fmt.Errorf("%s cannot be written: %w", quote.Text(folder), err)
}

func (p *rankPages) path(iteration, rank int) string {
	return filepath.Join(p.hidden, strconv.Itoa(iteration)+"-"+strconv.Itoa(rank))
}

// add keeps the page of a rank.
func (p *rankPages) add(iteration, rank int, page *memoryreport.Page) error {
	file, err := os.Create(p.path(iteration, rank))
	if err != nil {
		return notMade(p.folder, err)
	}
	p.made[[2]int{iteration, rank}] = true
	if err := errors.Join(memoryreport.Write(file, page), file.Close()); err != nil {
		return notMade(p.folder, err)
	}
	return nil
}

func (p *rankPages) has(iteration, rank int) bool { return p.made[[2]int{iteration, rank}] }

// open looks what is where a page is to be.
func (p *rankPages) open(name string, inputs []os.FileInfo) error {
	path := filepath.Join(p.folder, name)
	out, err := memoryreport.OpenOutput(path, inputs...)
	if err != nil {
		return err
	}
	if out.Exists() && !out.IsReport() {
		return fmt.Errorf("%s exists and is not a page of gaugeblock: name another folder with -o", quote.Text(path))
	}
	p.outputs[name] = out
	return nil
}

// write writes a page that was opened.
func (p *rankPages) write(name string, write func(io.Writer) error) error {
	p.writing.Store(p.outputs[name])
	defer p.writing.Store(nil)
	return p.outputs[name].WriteBy(write)
}

// copyTo writes a page that was kept.
func (p *rankPages) copyTo(w io.Writer, iteration, rank int) error {
	file, err := os.Open(p.path(iteration, rank))
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}
