package trace

import "gaugeblock/spec"

// Of a call that no driver has, none would ever fail, and a misspelt one would make a
// test that tests nothing: the reader refuses both.
var faultTable = newJSONTable("a fault", []jsonMember[spec.FaultSpec]{
	wordMember("call", func(f *spec.FaultSpec) *string { return &f.Call }, spec.DriverCalls()...),
	wholeMember("nth", func(f *spec.FaultSpec) *int { return &f.Nth }),
	wordMember("error", func(f *spec.FaultSpec) *string { return &f.Error }, spec.FaultErrors()...),
})

func readFault(c *jsonCursor) (f spec.FaultSpec) {
	faultTable.readWhole(c, &f, faultTable.all())
	if f.Nth == 0 {
		c.fail("calls are counted from 1")
	}
	return f
}

func appendFault(b []byte, f spec.FaultSpec) []byte {
	return faultTable.write(b, &f, faultTable.all(), 0)
}
