package snapshot

import (
	"math"
	"math/bits"
	"unicode/utf8"
)

// A pickle is a program for a stack machine. Most operations push a value, some move the
// topmost values into a list or a dict. The dangerous operations are those that name a
// Python object and call it. A memory snapshot has none of those, and this machine
// implements only the operations below, which make plain values.
//
// Everything that an operation makes is paid for from a budget (budget.go). A list may contain
// itself, which is harmless, since the machine never descends into a value.
//
// Libraries were tried on a snapshot of 844,401 entries, 44 MB (seconds of processor
// time, peak memory of the process):
//
//	gopickle 0.2.0   4.3   536 MiB   runs out of memory for a string that claims 1 TiB
//	og-rek 1.3.0     9.9   894 MiB   knows no long strings; returns calls as values
//	this             1.1   155 MiB
//
// Neither reports the offset of an error.

// The operations, named as in Python's pickletools.
const (
	opMark         = '('
	opStop         = '.'
	opPop          = '0'
	opPopMark      = '1'
	opNone         = 'N'
	opBinInt       = 'J'
	opBinInt1      = 'K'
	opBinInt2      = 'M'
	opBinFloat     = 'G'
	opBinUnicode   = 'X'
	opEmptyList    = ']'
	opAppend       = 'a'
	opAppends      = 'e'
	opEmptyTuple   = ')'
	opTuple        = 't'
	opEmptyDict    = '}'
	opSetItem      = 's'
	opSetItems     = 'u'
	opBinGet       = 'h'
	opLongBinGet   = 'j'
	opBinPut       = 'q'
	opLongBinPut   = 'r'
	opProto        = 0x80
	opTuple1       = 0x85
	opTuple2       = 0x86
	opTuple3       = 0x87
	opNewTrue      = 0x88
	opNewFalse     = 0x89
	opLong1        = 0x8a
	opLong4        = 0x8b
	opShortUnicode = 0x8c
	opBinUnicode8  = 0x8d
	opMemoize      = 0x94
	opFrame        = 0x95
	newestProtocol = 5
	oldestProtocol = 2
	longestInteger = 9 // bytes: a sign beside 64 bits
)

// refusal is the error for an operation of pickled Python objects.
const refusal = "it runs Python code or names a Python object, which a memory snapshot does not do and this reader never does"

// refusedOps are the operations of pickled Python objects.
var refusedOps = map[byte]string{
	'c': "GLOBAL", 0x93: "STACK_GLOBAL", 'R': "REDUCE", 'b': "BUILD", 'i': "INST", 'o': "OBJ",
	0x81: "NEWOBJ", 0x92: "NEWOBJ_EX", 'P': "PERSID", 'Q': "BINPERSID",
	0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4",
}

// machine is the state of the stack machine.
type machine struct {
	in     *source
	values *plain
	stack  []value
	marks  []int // heights of the stack
	memo   chunkedList[value]
	at     int64 // offset of the present operation

	highest int // height that the stack has had
}

// parsePickle reads a pickle and returns its value.
func parsePickle(in *source, values *plain) (value, error) {
	m := &machine{in: in, values: values}
	for {
		m.at = in.offset
		op, err := in.byte()
		if err != nil {
			return value{}, err
		}
		if op == opStop {
			return m.result()
		}
		if err := m.do(op); err != nil {
			return value{}, err
		}
	}
}

// result is the only value on the stack.
func (m *machine) result() (value, error) {
	if len(m.stack) != 1 || len(m.marks) > 0 {
		return value{}, m.fail("the pickle ends with %d values and %d marks on its stack, not with one value", len(m.stack), len(m.marks))
	}
	return m.stack[0], nil
}

func (m *machine) fail(format string, args ...any) error { return failAt(m.at, format, args...) }

// do performs an operation. The most frequent ones in a snapshot come first.
func (m *machine) do(op byte) error {
	switch op {
	case opBinGet:
		return m.memoGet(1)
	case opLongBinGet:
		return m.memoGet(4)
	case opMemoize:
		return m.memoPut(uint64(m.memo.length))
	case opBinPut:
		return m.memoPutAt(1)
	case opLongBinPut:
		return m.memoPutAt(4)
	case opLong1, opLong4, opBinInt, opBinInt1, opBinInt2, opBinFloat:
		return m.number(op)
	case opShortUnicode:
		return m.text(1)
	case opBinUnicode:
		return m.text(4)
	case opBinUnicode8:
		return m.text(8)
	case opMark:
		m.marks = append(m.marks, len(m.stack))
		return m.values.memory.take(8, m.at)
	case opSetItem, opSetItems, opAppend, opAppends, opPop, opPopMark:
		return m.gather(op)
	case opProto, opFrame:
		return m.header(op)
	}
	return m.push(op)
}

// push performs the operations that push a value and have no argument in the file.
func (m *machine) push(op byte) error {
	var v value
	var err error
	switch op {
	case opNone:
	case opNewTrue:
		v = value{boolean, 1}
	case opNewFalse:
		v = value{boolean, 0}
	case opEmptyDict:
		v, err = m.values.newDict(m.at)
	case opEmptyList, opEmptyTuple:
		v, err = m.values.newList(nil, m.at)
	case opTuple1, opTuple2, opTuple3:
		return m.tuple(len(m.stack) - int(op-opTuple1) - 1)
	case opTuple:
		base, err := m.popMark()
		if err != nil {
			return err
		}
		return m.tuple(base)
	default:
		return m.refuse(op)
	}
	if err != nil {
		return err
	}
	return m.pushValue(v)
}

// pushValue pushes a value. A place on the stack is paid for when the stack becomes higher than it
// ever was.
func (m *machine) pushValue(v value) error {
	m.stack = append(m.stack, v)
	if len(m.stack) <= m.highest {
		return nil
	}
	m.highest = len(m.stack)
	return m.values.memory.take(valueBytes, m.at)
}

func (m *machine) refuse(op byte) error {
	if name, known := refusedOps[op]; known {
		return m.fail("the pickle has the operation %s: %s", name, refusal)
	}
	return m.fail("the pickle has the operation %#02x, which no memory snapshot has", op)
}

// header reads the protocol version and frames.
func (m *machine) header(op byte) error {
	if op == opFrame { // of buffered reading, not needed
		return m.in.skip(8)
	}
	version, err := m.in.byte()
	if err == nil && (version < oldestProtocol || version > newestProtocol) {
		err = m.fail("pickle protocol %d, not %d to %d", version, oldestProtocol, newestProtocol)
	}
	return err
}

// bottom is the height of the stack below which an operation must not reach.
func (m *machine) bottom() int {
	if len(m.marks) == 0 {
		return 0
	}
	return m.marks[len(m.marks)-1]
}

// popMark removes the last mark and returns its height.
func (m *machine) popMark() (int, error) {
	if len(m.marks) == 0 {
		return 0, m.fail("the pickle pops a mark that is not there")
	}
	base := m.bottom()
	m.marks = m.marks[:len(m.marks)-1]
	return base, nil
}

// tuple makes a list of the values from a height on.
func (m *machine) tuple(base int) error {
	if base < m.bottom() {
		return m.fail("the pickle takes a value from an empty stack")
	}
	v, err := m.values.newList(m.stack[base:], m.at)
	if err != nil {
		return err
	}
	m.stack = m.stack[:base]
	return m.pushValue(v)
}

// gather pops values and adds them to the list or dict below them.
func (m *machine) gather(op byte) error {
	base, err := m.gathered(op)
	if err != nil {
		return err
	}
	items := m.stack[base:]
	m.stack = m.stack[:base]
	if op == opPop || op == opPopMark {
		return nil
	}
	if base <= m.bottom() {
		return m.fail("the pickle adds to a value that is not there")
	}
	to := m.stack[base-1]
	switch {
	case to.kind == dict && (op == opSetItem || op == opSetItems):
		if len(items)%2 != 0 {
			return m.fail("the pickle adds a key without a value to a dict")
		}
		return m.values.fill(to, items, m.at)
	case to.kind == list && (op == opAppend || op == opAppends):
		return m.values.extend(to, items, m.at)
	}
	return m.fail("the pickle adds to %v", to.kind)
}

// gathered is the height of the stack from which an operation pops values.
func (m *machine) gathered(op byte) (int, error) {
	count := 1
	switch op {
	case opSetItems, opAppends, opPopMark:
		return m.popMark()
	case opSetItem:
		count = 2
	}
	base := len(m.stack) - count
	if base < m.bottom() {
		return 0, m.fail("the pickle takes a value from an empty stack")
	}
	return base, nil
}

// memoGet pushes a value of the memo.
func (m *machine) memoGet(bytes int) error {
	i, err := m.in.littleEndian(bytes)
	switch {
	case err != nil:
		return err
	case i >= uint64(m.memo.length):
		return m.fail("the pickle gets value %d of a memo of %d", i, m.memo.length)
	}
	return m.pushValue(*m.memo.at(int(i)))
}

func (m *machine) memoPutAt(bytes int) error {
	i, err := m.in.littleEndian(bytes)
	if err != nil {
		return err
	}
	return m.memoPut(i)
}

// memoPut puts the topmost value into the memo. Python numbers them one after the other.
func (m *machine) memoPut(i uint64) error {
	switch {
	case len(m.stack) <= m.bottom():
		return m.fail("the pickle puts a value of an empty stack into the memo")
	case i > uint64(m.memo.length):
		return m.fail("the pickle puts value %d into a memo of %d", i, m.memo.length)
	case i == uint64(m.memo.length):
		if err := m.values.memory.take(valueBytes, m.at); err != nil {
			return err
		}
		m.memo.add(value{})
	}
	*m.memo.at(int(i)) = m.stack[len(m.stack)-1]
	return nil
}

// text reads a string. Its length is before it, in a number of bytes.
func (m *machine) text(bytes int) error {
	length, err := m.in.littleEndian(bytes)
	if err != nil {
		return err
	}
	t, err := m.in.bytes(length)
	if err != nil {
		return err
	}
	if !utf8.Valid(t) {
		return m.fail("a string is not UTF-8")
	}
	v, err := m.values.text(t, m.at)
	if err != nil {
		return err
	}
	return m.pushValue(v)
}

// number reads a number.
func (m *machine) number(op byte) (err error) {
	var n uint64
	v := value{kind: integer}
	switch op {
	case opBinInt1:
		v.word, err = m.in.littleEndian(1)
	case opBinInt2:
		v.word, err = m.in.littleEndian(2)
	case opBinInt:
		n, err = m.in.littleEndian(4)
		v.word = uint64(int64(int32(n)))
	case opBinFloat: // the highest byte first
		n, err = m.in.littleEndian(8)
		v = value{float, bits.ReverseBytes64(n)}
	case opLong1, opLong4:
		v, err = m.long(op)
	}
	if err == nil && v.kind == float && math.IsNaN(math.Float64frombits(v.word)) {
		err = m.fail("a number is NaN")
	}
	if err != nil {
		return err
	}
	return m.pushValue(v)
}

// long reads an integer of variable length that fits 64 bits.
func (m *machine) long(op byte) (value, error) {
	lengthBytes := 1
	if op == opLong4 {
		lengthBytes = 4
	}
	length, err := m.in.littleEndian(lengthBytes)
	if err != nil {
		return value{}, err
	}
	if length > longestInteger {
		return value{}, m.fail("a number of %d bytes", length)
	}
	low, err := m.in.littleEndian(int(min(length, 8)))
	if err != nil {
		return value{}, err
	}
	switch {
	case length == longestInteger:
		high, err := m.in.byte()
		if err == nil && (high != 0 || low < 1<<63) {
			err = m.fail("a number does not fit 64 bits")
		}
		return value{unsigned, low}, err
	case length > 0 && low>>(8*length-1) == 1: // negative
		low |= math.MaxUint64 << (8 * length)
	}
	return value{integer, low}, nil
}
