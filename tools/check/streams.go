package check

import (
	"fmt"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// The streams of a log. A handle stands for one stream after another: a stream that was
// destroyed is gone with its handle, and the handle may be that of a new one. The handle
// of the default stream of each thread stands for as many streams as there are threads.

// streams are those that the device has been given.
type streams struct {
	byIndex   [][]*given             // by device, and by the log's number
	byHandle  map[spec.Stream]*given // by the device's handle
	created   bool                   // the log says when streams are created
	perThread map[deviceThread]*given
	legacy    []*given    // by device
	free      spec.Stream // a handle that no log has
	unknown   int         // streams that were named and not created
}

type deviceThread struct {
	device spec.Device
	thread spec.Thread
}

// given is a stream as the device has it.
type given struct {
	handle    spec.Stream // the device's
	stream    fakegpu.LoggedStream
	name      string // as the log has it
	destroyed int    // the line, 0 if it is there
}

func newStreams() streams {
	return streams{
		byHandle: map[spec.Stream]*given{}, perThread: map[deviceThread]*given{},
		free: 1 << 63,
	}
}

// at is the place of a stream of a device.
func (s *streams) at(dev spec.Device, index int) **given {
	for len(s.byIndex) <= int(dev) {
		s.byIndex = append(s.byIndex, nil)
	}
	of := &s.byIndex[dev]
	if index >= len(*of) {
		*of = append(*of, make([]*given, index+1-len(*of))...)
	}
	return &(*of)[index]
}

// stream is the device's stream of a stream of the log. It comes into being when it is
// first named.
func (c *checker) stream(dev spec.Device, index int) *given {
	if s := *c.streams.at(dev, index); s != nil && s.destroyed == 0 {
		return s
	}
	handle := c.header.Streams[index]
	if handle == trace.PerThreadStream || handle == 0 && c.options.PerThreadDefault {
		return c.threadStream(dev, index)
	}
	if handle <= trace.LegacyStream {
		return c.legacyStream(dev)
	}
	at := c.streams.at(dev, index)
	s := *at
	switch {
	case s == nil:
		s = c.addStream(handle, c.given.stream(index, handle), dev, c.options.BlockingStreams)
		*at = s
		c.streams.unknown++
	case s.destroyed > 0:
		if c.streams.created {
			c.violation(DeviceRefuses, "%s: stream %s", c.op.Kind, s.name)
		}
		s = c.addStream(handle, c.given.stream(index, handle), dev, c.options.BlockingStreams)
		*at = s
	}
	return s
}

// legacyStream is the legacy default stream of a device.
func (c *checker) legacyStream(dev spec.Device) *given {
	for d := len(c.streams.legacy); d <= int(dev); d++ {
		found, _ := c.gpu.LoggedStream(spec.Device(d), 0)
		c.streams.legacy = append(c.streams.legacy, &given{stream: found})
	}
	return c.streams.legacy[dev]
}

// addStream gives the device a stream, under its own handle if no other stream had that.
func (c *checker) addStream(handle spec.Stream, name string, dev spec.Device, blocking bool) *given {
	if c.streams.byHandle[handle] != nil {
		name = fmt.Sprintf("%s (the one since line %d)", name, c.op.Line)
		handle = c.streams.free
	}
	for c.gpu.AddStream(dev, handle) != nil {
		handle = c.streams.free
		c.streams.free++
	}
	if blocking {
		c.shown.waits = true // for each other, by way of the legacy default stream
		_ = c.gpu.SetBlocking(dev, handle)
	}
	found, _ := c.gpu.LoggedStream(dev, handle)
	s := &given{handle: handle, stream: found, name: name}
	c.streams.byHandle[handle] = s
	return s
}

// threadStream is the default stream of the present thread, which is a blocking one.
func (c *checker) threadStream(dev spec.Device, index int) *given {
	key := deviceThread{dev, c.op.Thread}
	s := c.streams.perThread[key]
	if s == nil {
		name := fmt.Sprintf("%s of thread %s", c.given.stream(index, c.header.Streams[index]), c.given.thread(c.op.Thread))
		s = c.addStream(c.streams.free, name, dev, true)
		c.streams.free++
		c.streams.perThread[key] = s
	}
	return s
}

// createStream: a stream is there from here on, whatever its handle was before.
func (c *checker) createStream(op *trace.Op) {
	handle := c.header.Streams[op.Stream]
	if handle <= trace.PerThreadStream {
		c.violation(DeviceRefuses, "%s: the default stream is not created", op.Kind)
		return
	}
	at := c.streams.at(op.Device, op.Stream)
	if s := *at; s != nil && s.destroyed == 0 {
		if c.streams.created {
			c.violation(DeviceRefuses, "%s: stream %s is there already", op.Kind, s.name)
		}
		_ = c.gpu.DestroyStream(op.Device, s.handle)
	}
	c.streams.created = true
	*at = c.addStream(handle, c.given.stream(op.Stream, handle), op.Device, op.Blocking)
}

func (c *checker) destroyStream(op *trace.Op) {
	if err := c.gpu.DestroyStream(op.Device, c.stream(op.Device, op.Stream).handle); err != nil {
		c.performed(err)
		return
	}
	if s := *c.streams.at(op.Device, op.Stream); s != nil {
		s.destroyed = op.Line
		s.name += fmt.Sprintf(" (destroyed in line %d)", op.Line)
	}
}

// endThread: the default streams of the thread are gone. What is in them goes on:
// whether the driver waits for it is documented nowhere.
func (c *checker) endThread(op *trace.Op) {
	for dev := range c.header.Devices {
		if own := c.header.OwnStream(spec.Device(dev), op.Thread); own > 0 {
			end := *op
			end.Device, end.Stream = spec.Device(dev), own
			c.destroyStream(&end)
		}
		key := deviceThread{spec.Device(dev), op.Thread}
		if s := c.streams.perThread[key]; s != nil {
			_ = c.gpu.DestroyStream(key.device, s.handle)
			s.name += fmt.Sprintf(" (ended in line %d)", op.Line)
			delete(c.streams.perThread, key)
		}
	}
	c.gpu.EndThread(op.Thread)
}

// streamName is what a stream of the device is called in the log.
func (c *checker) streamName(dev spec.Device, handle spec.Stream) string {
	name := "0"
	if s := c.streams.byHandle[handle]; s != nil {
		name = s.name
	}
	if c.header.Devices > 1 {
		return fmt.Sprintf("%s of device %d", name, dev)
	}
	return name
}
