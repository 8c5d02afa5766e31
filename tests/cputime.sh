#!/bin/bash
# Runs a test binary (go test -exec) and appends a line to the file $TIMES: seconds of processor
# time in the program and in the system, elapsed seconds, the folder. With $EACH set it runs each
# test by itself. "make times" and "make times EACH=1" print the result.
exec 3>&2
TIMEFORMAT="%U user %S system %R elapsed  ${PWD#"$ROOT"/}"
if [ -z "$EACH" ]; then
	{ time "$@" 2>&3; } 2>>"$TIMES"
	exit
fi
status=0
for test in $("$1" -test.list . | grep -v '^Benchmark'); do
	TIMEFORMAT="%U user %S system %R elapsed  ${PWD#"$ROOT"/} $test"
	{ time "$@" "-test.run=^$test\$" 2>&3; } 2>>"$TIMES" || status=$?
done
exit $status
