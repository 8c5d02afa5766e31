package linearizability

// threadName is how thread i is called: A, B, C...
func threadName(i int) string {
	if i == mainThread {
		return "-"
	}
	return string(rune('A' + i))
}

// outside is the number of the thread that does what comes before the others begin,
// and looks when they have ended.
const mainThread = -1
