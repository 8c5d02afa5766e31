package alloc

import (
	"fmt"
	"math"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// What a program can set at run time: the settings of PYTORCH_ALLOC_CONF, and the limit
// on the reserved memory.

// Configure applies settings at run time. A string with an error changes nothing. The
// settings of each device change between two of its operations.
func (a *Allocator) Configure(text string) error {
	a.configuring.Lock()
	defer a.configuring.Unlock()
	cfg, err := a.rules.Settings.Apply(a.Config(), text, a.geometry)
	if err != nil {
		return err
	}
	return a.onEachDevice(func(d *device) error {
		d.cfg = cfg
		return nil
	})
}

// Config returns the settings in force.
func (a *Allocator) Config() spec.Config {
	d := a.devices[0]
	d.mu.Lock()
	defer d.unlock()
	return d.cfg
}

// SetReserveClass sets the class of a stream; see spec.ReserveClassifier.
func (a *Allocator) SetReserveClass(s spec.Stream, class string) error {
	return a.onEachDevice(func(d *device) error {
		if d.reserveClasses == nil {
			d.reserveClasses = map[spec.Stream]string{}
		}
		d.reserveClasses[s] = class
		return nil
	})
}

// SetDefaultReserve gives a class a reserve that the settings do not have.
func (a *Allocator) SetDefaultReserve(class string, fraction float64) error {
	const op = "set_default_reserve"
	if len(strings.Fields(class)) != 1 || !(fraction > 0 && fraction <= math.MaxFloat64) {
		reason := fmt.Sprintf("class %q, fraction %v: want a word, and a number above 0", class, fraction)
		return &spec.InvalidArgumentError{Op: op, Reason: reason}
	}
	a.configuring.Lock()
	defer a.configuring.Unlock()
	return a.onEachDevice(func(d *device) error {
		if d.cfg.ReserveFor(class) == (spec.Reserve{}) {
			d.cfg.ReserveByClass = d.cfg.ReserveByClass.With(class, spec.Reserve{Fraction: fraction})
		}
		return nil
	})
}

// SetMemoryFraction limits the reserved memory to a fraction of the device's memory. A
// fraction of 1 is no limit, unless FullFractionLimits.
func (a *Allocator) SetMemoryFraction(dev spec.Device, fraction float64) error {
	const op = "set_memory_fraction"
	if _, err := a.device(op, dev); err != nil {
		return err
	}
	if !(fraction >= 0 && fraction <= 1) {
		reason := fmt.Sprintf("%v is not in [0, 1]", fraction)
		return &spec.InvalidArgumentError{Op: op, Reason: reason}
	}
	return a.onDevice(op, dev, func(d *device) error {
		d.limited, d.allowedMemoryMaximum = memoryLimit(fraction, d.totalMemory, &d.rules)
		return nil
	})
}

// MemoryFraction returns the limit as a fraction of the device's memory, 1 without
// a limit.
func (a *Allocator) MemoryFraction(dev spec.Device) (fraction float64, err error) {
	err = a.onDevice("memory_fraction", dev, func(d *device) error {
		fraction = 1
		if d.limited {
			fraction = float64(d.allowedMemoryMaximum) / float64(d.totalMemory)
		}
		return nil
	})
	return fraction, err
}

// memoryLimit returns a fraction of the device's memory in bytes, and whether that is a
// limit.
func memoryLimit(
	fraction float64, totalMemory uint64, rules *upstream.Rules,
) (limited bool, bytes uint64) {
	if fraction >= 1 && !rules.FullFractionLimits {
		return false, 0
	}
	limit := fraction * float64(totalMemory)
	if rules.LimitRounded {
		limit = math.Round(limit)
	}
	return true, uint64(limit)
}
