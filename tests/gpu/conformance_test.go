package gpu

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/tools/reference"
)

// How much of each area is run: a number of operations, or a time. In all areas together
// GAUGEBLOCK_OPERATIONS says how many.
const (
	conformanceOperations = 2000
	conformanceLength     = 150 // of a program
	conformancePatience   = 30 * time.Second
)

func operations(t *testing.T) int {
	text := os.Getenv("GAUGEBLOCK_OPERATIONS")
	if text == "" {
		return conformanceOperations
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n / len(conformance.Areas())
}

// TestConformance runs programs of every area of the conformance suite through the
// reference on a device that shadows the fake one (shadow_test.go). The shadow of one fake
// device on another shows that the shadow itself does as it should.
func TestConformance(t *testing.T) {
	for _, area := range conformance.Areas() {
		t.Run(area.Name, func(t *testing.T) {
			if area.Name == "sharing" {
				note(t)
				t.Skip("its programs share memory between two processes of the fake device; TestProcesses does so with real ones")
			}
			onBoth(t, func(l *lab) {
				if n := l.DeviceCount(); n < area.Devices {
					l.Skipf("the machine has %d devices, %d are needed", n, area.Devices)
				}
				shadowArea(l, area)
			})
		})
	}
}

func shadowArea(l *lab, area *conformance.Area) {
	checked, calls, programs, void := 0, 0, 0, []string{}
	wanted := operations(l.T)
	for began := time.Now(); checked < wanted && time.Since(began) < conformancePatience; programs++ {
		s, result := shadowProgram(area, uint64(programs+1), l.device)
		checked, calls = checked+result.Checked, calls+s.calls
		if s.gaveUp() != "" {
			void = append(void, fmt.Sprintf("program %d: %s", programs+1, s.gaveUp()))
			l.anew()
		}
		if result.Failure != nil {
			l.Fatal(result.Failure)
		}
		if s.differs != nil {
			l.Fatalf("program %d, after %d operations: %v", programs+1, result.Checked, s.differs)
		}
	}
	l.Logf("%d operations in %d programs, %d calls of the shadow", checked, programs, calls)
	if len(void) > 0 {
		l.Logf("given up, for a call waited for streams that were held: %q", void)
	}
	if 10*len(void) > programs {
		l.Error("more than one program in ten was given up")
	}
}

// shadowProgram runs one program.
func shadowProgram(area *conformance.Area, seed uint64, on device) (*shadow, conformance.Result) {
	var s *shadow
	result := area.Run(seed, conformanceLength, conformance.Options{
		New: reference.New, Every: 16,
		Around: func(fake *fakegpu.GPU) perform.Device {
			s = newShadow(fake, on)
			return s
		},
	})
	s.end()
	return s, result
}

// TestShadowBites: a device that says of every event that it is complete is told apart.
func TestShadowBites(t *testing.T) {
	note(t)
	for seed := uint64(1); seed < 50; seed++ {
		if s, _ := shadowProgram(conformance.Find("core"), seed, hasty{newFake()}); s.differs != nil {
			t.Logf("found in program %d: %v", seed, s.differs)
			return
		}
	}
	t.Error("no difference was found")
}

// stuck is a device that makes no event while a stream is held.
type stuck struct {
	device
	holds chan func()
}

func (d stuck) hold(dev spec.Device, s spec.Stream) (func(), error) {
	release, err := d.device.hold(dev, s)
	if err != nil {
		return nil, err
	}
	open := make(chan struct{})
	d.holds <- func() { <-open }
	return func() { release(); close(open) }, nil
}

func (d stuck) CreateEvent(dev spec.Device) (spec.EventHandle, error) {
	for {
		select {
		case wait := <-d.holds:
			wait()
		default:
			return d.device.CreateEvent(dev)
		}
	}
}

// TestShadowGivesUp: a call that waits for a held stream ends the shadow, and not the
// program.
func TestShadowGivesUp(t *testing.T) {
	note(t)
	var s *shadow
	result := conformance.Find("core").Run(1, conformanceLength, conformance.Options{
		New: reference.New,
		Around: func(fake *fakegpu.GPU) perform.Device {
			s = newShadow(fake, stuck{newFake(), make(chan func(), 10_000)})
			s.patience = time.Second // no other call takes that long, also on a busy machine
			return s
		},
	})
	s.end()
	if result.Failure != nil || s.differs != nil || s.gaveUp() != "CreateEvent" {
		t.Errorf("failure %v, difference %v, given up in %q", result.Failure, s.differs, s.gaveUp())
	}
}
