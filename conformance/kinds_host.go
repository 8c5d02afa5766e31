package conformance

import "gaugeblock/spec/trace"

// Streams that are created, what host threads wait for, and what they do themselves.
// Logs of other programs have them (tools/check). Programs here have their streams from
// the beginning, and one thread that waits for them.

const onlyInLogs = "it is in the logs of other programs only"

var hostKinds = map[trace.OpKind]kind{
	trace.OpCreateStream:      {notProposed: onlyInLogs, allowed: always, did: nothing},
	trace.OpSynchronizeEvent:  {notProposed: onlyInLogs, allowed: always, did: nothing},
	trace.OpSynchronizeDevice: {notProposed: onlyInLogs, allowed: always, did: nothing},
	trace.OpQueryEvent:        {notProposed: onlyInLogs, allowed: always, did: nothing},
	trace.OpDestroyEvent:      {notProposed: onlyInLogs, allowed: always, did: nothing},
	trace.OpQueryStream:       {notProposed: onlyInLogs, allowed: always, did: nothing},
	trace.OpHostAccess:        {notProposed: onlyInLogs, allowed: always, did: nothing},
	trace.OpWaitThread:        {notProposed: onlyInLogs, allowed: always, did: nothing},
}
