package bounded

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// Bounds are the constants of a configuration. Sizes are in units of memory.
type Bounds struct {
	Geometry spec.Geometry
	Config   spec.Config // the settings that are constants; others have their defaults
	Rules    upstream.Rules
	Memory   uint64
	Limit    uint64 // above Memory: none
	Streams  []spec.Stream
	Sizes    []uint64 // of requests
	OwnWork  bool     // programs launch work on the stream that memory was allocated for

	fraction float64 // that a program limits the memory to, 0 if Limit is a number
}

// maxUnits is the largest number in a state: a key has one byte for a number.
const maxUnits = 255

// coreConstants are the constants that CachingAllocator.tla uses, beside the settings.
var coreConstants = []string{
	"MinBlock", "SmallSize", "SmallBuffer", "MinLargeAlloc", "LargeBuffer", "RoundLarge",
	"Memory", "Limit", "Streams", "Sizes", "OwnWork",
	"Fraction",                                             // of the memory, if Limit is AllowedMemory
	"MarksCaptures", "RoutesUncaptured", "UncapturedPools", // read with private pools
	"Addresses", // not read: the TLA+ text needs enough of them, the model has all
}

// ReadBounds reads the constants of a configuration. A constant that is not in
// coreConstants or others and is not a setting is an error, and so is a replaced operator:
// the model has no counterpart of it.
func ReadBounds(c *tlc.Config, others ...string) (b Bounds, err error) {
	for _, name := range c.Names() {
		if !slices.Contains(coreConstants, name) && !slices.Contains(others, name) && !isSetting(name) && !isRule(name) {
			return b, fmt.Errorf("%s: %s is not a constant of the model", c.File, name)
		}
	}
	r := constants{config: c}
	b.Geometry = spec.Geometry{
		MinBlock: r.number("MinBlock"), SmallSize: r.number("SmallSize"), SmallBuffer: r.number("SmallBuffer"),
		MinLargeAlloc: r.number("MinLargeAlloc"), LargeBuffer: r.number("LargeBuffer"), RoundLarge: r.number("RoundLarge"),
		DivisionsStart: 1, MaxRequest: spec.EiB, MiB: 1,
	}
	b.Memory = r.number("Memory")
	b.Config = spec.DefaultConfig(b.Geometry)
	r.fields(&b.Config, isSetting)
	r.fields(&b.Rules, isRule)
	if b.Rules.PoolEndCompletesDeferred { // it is a rule of that setting
		b.Config.GraphCaptureRecordStreamReuse = true
	}
	b.Limit = r.limit(&b)
	b.Sizes = r.numbers("Sizes")
	b.OwnWork = r.bool("OwnWork")
	for i, s := range r.numbers("Streams") {
		b.Streams = append(b.Streams, spec.Stream(s))
		if s != uint64(i+1) && r.err == nil {
			r.err = fmt.Errorf("%s: Streams is not 1..n", c.File)
		}
	}
	if r.err == nil {
		r.err = b.validate(c.File)
	}
	return b, r.err
}

func (b *Bounds) validate(file string) error {
	if err := b.Geometry.Validate(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(b.Streams) > maxNames {
		return fmt.Errorf("%s: more than %d streams", file, maxNames)
	}
	if b.addresses() > maxUnits {
		return fmt.Errorf("%s: more than %d addresses", file, maxUnits)
	}
	for _, size := range b.Sizes {
		if size == 0 || size > maxUnits {
			return fmt.Errorf("%s: a size is not in 1..%d", file, maxUnits)
		}
	}
	return nil
}

// addresses is the number of addresses that labels can have. A plain segment is at the
// lowest free address, so that all blocks are below twice the memory. There can be any
// number of expandable segments, since an address range needs no memory. The TLA+ text
// has a bound of its own (the constant Addresses). If it were too low, TLC's graph would
// lack the steps with blocks beyond it, and the graphs would differ.
func (b *Bounds) addresses() uint64 {
	if b.Config.ExpandableSegments {
		return maxUnits
	}
	return 2 * b.Memory
}

// constants reads constants and keeps the first error.
type constants struct {
	config *tlc.Config
	err    error
}

func (r *constants) number(name string) uint64    { return read(r, r.config.Number, name) }
func (r *constants) bool(name string) bool        { return read(r, r.config.Bool, name) }
func (r *constants) numbers(name string) []uint64 { return read(r, r.config.Numbers, name) }

func read[T any](r *constants, constant func(name string) (T, error), name string) T {
	value, err := constant(name)
	r.err = cmp.Or(r.err, err)
	return value
}

// names reads a set of numbers from 1 to maxNames, of pools or threads.
func (r *constants) names(name string) []uint64 {
	numbers := r.numbers(name)
	for _, n := range numbers {
		if (n < 1 || n > maxNames) && r.err == nil {
			r.err = fmt.Errorf("%s: %s has %d, which is not in 1..%d", r.config.File, name, n, maxNames)
		}
	}
	if r.err != nil {
		return nil
	}
	return numbers
}

// isSetting reports whether a constant is a setting of the allocator: it has the name of a
// field of spec.Config.
func isSetting(constant string) bool {
	field, found := reflect.TypeFor[spec.Config]().FieldByName(constant)
	return found && slices.Contains([]reflect.Kind{reflect.Bool, reflect.Uint64, reflect.Float64, reflect.Array}, field.Type.Kind())
}

// ruleValues are the values of rules that are neither true nor false, in their order.
var ruleValues = map[string][]string{
	"Ties":     {`"address"`, `"block"`, `"segment"`},
	"Captures": {`"routing"`, `"mark"`},
}

// isRule reports whether a constant is a rule in which releases differ: it has the name of a
// field of upstream.Rules that is true or false, or that has named values.
func isRule(constant string) bool {
	field, found := reflect.TypeFor[upstream.Rules]().FieldByName(constant)
	return found && (field.Type.Kind() == reflect.Bool || ruleValues[constant] != nil)
}

// SetRules gives the constants that are rules the values of some release, for programs that do not
// set graph_capture_record_stream_reuse. Where marks make a capture, requests are routed without one, unless
// captures forbid something or the configuration is about marks.
func SetRules(c *tlc.Config, rules upstream.Rules) (err error) {
	marks := AboutMarks(c)
	all := reflect.ValueOf(rules)
	for i := range all.NumField() {
		name := all.Type().Field(i).Name
		if _, undefined := c.Value(name); undefined != nil || !isRule(name) || name == "PoolEndCompletesDeferred" {
			continue
		}
		value := "FALSE"
		switch field := all.Field(i); {
		case field.Kind() == reflect.Uint8:
			value = ruleValues[name][field.Uint()]
		case field.Bool():
			value = "TRUE"
		}
		err = cmp.Or(err, c.Set(name, value))
	}
	pools, none := c.Value("PoolIds")
	relaxed, unsaid := c.Bool("RelaxedCaptures")
	if rules.Captures == upstream.CapturesByMark && none == nil && unsaid == nil && relaxed && !marks {
		err = cmp.Or(err, c.Set("RoutesUncaptured", "TRUE"), c.Set("UncapturedPools", pools))
	}
	return err
}

// AboutMarks reports whether a configuration says that captures are marked: it is one of CurrentStream.tla.
func AboutMarks(c *tlc.Config) bool {
	captures, undefined := c.Value("Captures")
	return undefined == nil && captures == ruleValues["Captures"][upstream.CapturesByMark]
}

// ruleValue is the number of a rule's value.
func (r *constants) ruleValue(rule string) uint64 {
	text, err := r.config.Value(rule)
	r.err = cmp.Or(r.err, err)
	i := slices.Index(ruleValues[rule], text)
	if i < 0 {
		r.err = cmp.Or(r.err, fmt.Errorf("%s: %s is not one of %s", r.config.File, rule, ruleValues[rule]))
		return 0
	}
	return uint64(i)
}

// limit is the limit in units, or that which follows from the fraction (AllowedMemory of
// Driver.tla). It asks no rule of the model, which sets its own by the fraction.
func (r *constants) limit(b *Bounds) uint64 {
	if text, err := r.config.Value("Limit"); err != nil || text != "<-AllowedMemory" {
		return r.number("Limit")
	}
	percent := r.number("Fraction")
	if percent > 100 {
		r.err = cmp.Or(r.err, fmt.Errorf("%s: Fraction is above 100", r.config.File))
	}
	b.fraction = float64(percent) / 100
	hundredths := percent * b.Memory
	if b.Rules.LimitRounded {
		hundredths += 50
	}
	return hundredths / 100
}

// fields reads the fields of a struct that are constants of the configuration. So a new
// setting or rule needs no line here.
func (r *constants) fields(to any, isConstant func(name string) bool) {
	all := reflect.ValueOf(to).Elem()
	for i := range all.NumField() {
		name := all.Type().Field(i).Name
		if _, err := r.config.Value(name); err != nil || !isConstant(name) {
			continue
		}
		switch field := all.Field(i); field.Kind() {
		case reflect.Bool:
			field.SetBool(r.bool(name))
		case reflect.Uint64:
			field.SetUint(r.number(name))
		case reflect.Float64: // in hundredths
			field.SetFloat(float64(r.number(name)) / 100)
		case reflect.Array: // the same for requests of all sizes
			for i := range field.Len() {
				field.Index(i).SetUint(r.number(name))
			}
		case reflect.Uint8:
			field.SetUint(r.ruleValue(name))
		}
	}
}

// AddressBase is the address that TLA+ counts from: a multiple of all sizes.
const AddressBase spec.Ptr = 1 << 16

// initial is the initial state.
func (b *Bounds) initial() *model.State {
	s := model.New(0, b.Memory, b.Config, b.Geometry, b.Rules)
	if b.Limit <= b.Memory {
		s.Limited, s.Limit = true, b.Limit
	}
	if b.fraction > 0 && b.fraction < 1 {
		s, _ = s.SetMemoryFraction(b.fraction)
	}
	s.FreeWaits = b.OwnWork
	return &s
}
