---- MODULE MCCore_TTrace_1795829117 ----
EXTENDS MCCore, Sequences, TLCExt, Toolbox, Naturals, TLC

_expression ==
    LET MCCore_TEExpression == INSTANCE MCCore_TEExpression
    IN MCCore_TEExpression!expression
----

_trace ==
    LET MCCore_TETrace == INSTANCE MCCore_TETrace
    IN MCCore_TETrace!trace
----

_inv ==
    ~(
        TLCGet("level") = Len(_TETrace)
        /\
        given = ({[addr |-> 0, stream |-> 1, bytes |-> 2], [addr |-> 2, stream |-> 1, bytes |-> 4]})
        /\
        stats = ([reserved |-> 4, active |-> 4, inactiveSplit |-> 0, allocated |-> 4])
        /\
        work = (<<<<>>, <<>>>>)
        /\
        blocks = ({[addr |-> 0, size |-> 2, eventCount |-> 0, uses |-> {}, allocated |-> TRUE, requested |-> 2, mapped |-> TRUE], [addr |-> 2, size |-> 2, eventCount |-> 0, uses |-> {}, allocated |-> TRUE, requested |-> 4, mapped |-> TRUE]})
        /\
        cached = ({})
        /\
        device = ({[addr |-> 0, size |-> 4]})
        /\
        events = (<<<<>>, <<>>>>)
        /\
        segments = ({[addr |-> 0, size |-> 4, stream |-> 1, pool |-> 0, kind |-> "large"]})
    )
----

_init ==
    /\ events = _TETrace[1].events
    /\ work = _TETrace[1].work
    /\ stats = _TETrace[1].stats
    /\ blocks = _TETrace[1].blocks
    /\ segments = _TETrace[1].segments
    /\ cached = _TETrace[1].cached
    /\ given = _TETrace[1].given
    /\ device = _TETrace[1].device
----

_next ==
    /\ \E i,j \in DOMAIN _TETrace:
        /\ \/ /\ j = i + 1
              /\ i = TLCGet("level")
        /\ events  = _TETrace[i].events
        /\ events' = _TETrace[j].events
        /\ work  = _TETrace[i].work
        /\ work' = _TETrace[j].work
        /\ stats  = _TETrace[i].stats
        /\ stats' = _TETrace[j].stats
        /\ blocks  = _TETrace[i].blocks
        /\ blocks' = _TETrace[j].blocks
        /\ segments  = _TETrace[i].segments
        /\ segments' = _TETrace[j].segments
        /\ cached  = _TETrace[i].cached
        /\ cached' = _TETrace[j].cached
        /\ given  = _TETrace[i].given
        /\ given' = _TETrace[j].given
        /\ device  = _TETrace[i].device
        /\ device' = _TETrace[j].device

\* Uncomment the ASSUME below to write the states of the error trace
\* to the given file in Json format. Note that you can pass any tuple
\* to `JsonSerialize`. For example, a sub-sequence of _TETrace.
    \* ASSUME
    \*     LET J == INSTANCE Json
    \*         IN J!JsonSerialize("MCCore_TTrace_1795829117.json", _TETrace)

=============================================================================

 Note that you can extract this module `MCCore_TEExpression`
  to a dedicated file to reuse `expression` (the module in the 
  dedicated `MCCore_TEExpression.tla` file takes precedence 
  over the module `MCCore_TEExpression` below).

---- MODULE MCCore_TEExpression ----
EXTENDS MCCore, Sequences, TLCExt, Toolbox, Naturals, TLC

expression == 
    [
        \* To hide variables of the `MCCore` spec from the error trace,
        \* remove the variables below.  The trace will be written in the order
        \* of the fields of this record.
        events |-> events
        ,work |-> work
        ,stats |-> stats
        ,blocks |-> blocks
        ,segments |-> segments
        ,cached |-> cached
        ,given |-> given
        ,device |-> device
        
        \* Put additional constant-, state-, and action-level expressions here:
        \* ,_stateNumber |-> _TEPosition
        \* ,_eventsUnchanged |-> events = events'
        
        \* Format the `events` variable as Json value.
        \* ,_eventsJson |->
        \*     LET J == INSTANCE Json
        \*     IN J!ToJson(events)
        
        \* Lastly, you may build expressions over arbitrary sets of states by
        \* leveraging the _TETrace operator.  For example, this is how to
        \* count the number of times a spec variable changed up to the current
        \* state in the trace.
        \* ,_eventsModCount |->
        \*     LET F[s \in DOMAIN _TETrace] ==
        \*         IF s = 1 THEN 0
        \*         ELSE IF _TETrace[s].events # _TETrace[s-1].events
        \*             THEN 1 + F[s-1] ELSE F[s-1]
        \*     IN F[_TEPosition - 1]
    ]

=============================================================================



Parsing and semantic processing can take forever if the trace below is long.
 In this case, it is advised to uncomment the module below to deserialize the
 trace from a generated binary file.

\*
\*---- MODULE MCCore_TETrace ----
\*EXTENDS MCCore, IOUtils, TLC
\*
\*trace == IODeserialize("MCCore_TTrace_1795829117.bin", TRUE)
\*
\*=============================================================================
\*

---- MODULE MCCore_TETrace ----
EXTENDS MCCore, TLC

trace == 
    <<
    ([given |-> {},stats |-> [reserved |-> 0, active |-> 0, inactiveSplit |-> 0, allocated |-> 0],work |-> <<<<>>, <<>>>>,blocks |-> {},cached |-> {},device |-> {},events |-> <<<<>>, <<>>>>,segments |-> {}]),
    ([given |-> {[addr |-> 0, stream |-> 1, bytes |-> 2]},stats |-> [reserved |-> 4, active |-> 2, inactiveSplit |-> 2, allocated |-> 2],work |-> <<<<>>, <<>>>>,blocks |-> {[addr |-> 0, size |-> 2, eventCount |-> 0, uses |-> {}, allocated |-> TRUE, requested |-> 2, mapped |-> TRUE], [addr |-> 2, size |-> 2, eventCount |-> 0, uses |-> {}, allocated |-> FALSE, requested |-> 0, mapped |-> TRUE]},cached |-> {2},device |-> {[addr |-> 0, size |-> 4]},events |-> <<<<>>, <<>>>>,segments |-> {[addr |-> 0, size |-> 4, stream |-> 1, pool |-> 0, kind |-> "large"]}]),
    ([given |-> {[addr |-> 0, stream |-> 1, bytes |-> 2], [addr |-> 2, stream |-> 1, bytes |-> 4]},stats |-> [reserved |-> 4, active |-> 4, inactiveSplit |-> 0, allocated |-> 4],work |-> <<<<>>, <<>>>>,blocks |-> {[addr |-> 0, size |-> 2, eventCount |-> 0, uses |-> {}, allocated |-> TRUE, requested |-> 2, mapped |-> TRUE], [addr |-> 2, size |-> 2, eventCount |-> 0, uses |-> {}, allocated |-> TRUE, requested |-> 4, mapped |-> TRUE]},cached |-> {},device |-> {[addr |-> 0, size |-> 4]},events |-> <<<<>>, <<>>>>,segments |-> {[addr |-> 0, size |-> 4, stream |-> 1, pool |-> 0, kind |-> "large"]}])
    >>
----


=============================================================================

---- CONFIG MCCore_TTrace_1795829117 ----
CONSTANTS
    MinBlock = 1
    SmallSize = 1
    SmallBuffer = 2
    MinLargeAlloc = 3
    LargeBuffer = 4
    RoundLarge = 2
    MaxSplitSize = 100
    MaxNonSplitRounding = 6
    Memory = 4
    Limit = 100
    Streams = { 1 , 2 }
    Sizes = { 2 , 4 }
    GetFreeBlock <- TakesLargest

INVARIANT
    _inv

CHECK_DEADLOCK
    \* CHECK_DEADLOCK off because of PROPERTY or INVARIANT above.
    FALSE

INIT
    _init

NEXT
    _next

CONSTANT
    _TETrace <- _trace

ALIAS
    _expression
=============================================================================
\* Generated on Sat Nov 28 01:25:19 UTC 2026