--------------------------- MODULE AbstractMemory ---------------------------
(***************************************************************************)
(* What an allocator of GPU memory promises.  A program mallocs memory on  *)
(* a stream, launches work that uses it, and frees it while the work may   *)
(* still be pending.  Other streams may use it too, if the program records *)
(* them (record_stream) before the free.  Nothing is here of how: no free  *)
(* lists, no splitting, no best fit.                                       *)
(*                                                                         *)
(* The variables are what the program holds, what the device has still to  *)
(* do, what the driver has granted, and what graphs need.  No variable is  *)
(* private to an allocator.  It answers mallocs, waits for work, lets a    *)
(* stream wait on the device, and takes and returns memory of the driver.  *)
(*                                                                         *)
(*   MayBeTaken   A malloc returns memory that no allocation has, and no   *)
(*                graph but those that its stream is captured into.  All   *)
(*                pending uses of it come before the stream's next work.   *)
(*   AllIsGranted What is held, pending or in a graph is granted: memory   *)
(*                is returned to the driver only when the work on it is    *)
(*                over.                                                    *)
(*   Malloc       returns enough bytes, consecutive and aligned.           *)
(*   Free         alone ends an allocation.                                *)
(*   CannotServe  A malloc that fails does so because there would be no    *)
(*                room if all that can be returned were returned.          *)
(*                                                                         *)
(* Spec has these but for the last: in a step that changes no allocation a *)
(* malloc may have failed, and only who knows the call can ask for         *)
(* OutOfMemory (MallocsServe in Refinement.tla).  Nor does Spec say that   *)
(* anything must happen: that a free is accepted is said there too.        *)
(*                                                                         *)
(* The order of uses need not come from waiting for other streams' work:   *)
(* a pool that lets the stream wait for an event keeps these rules too     *)
(* (StreamOrderedPool.tla, as cudaMallocAsync).  In which order the work   *)
(* of one graph uses the graph's memory is not said: its work runs in no   *)
(* action here.  Graphs are the program's, which destroys none that runs.  *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Streams,    \* of all devices
    Home,       \* for each stream the addresses of its device's memory: [Streams -> sets of numbers]
    Names,      \* of allocations: two with equal memory are two
    Graphs,     \* the graphs that programs capture
    Sizes,      \* what programs request, in bytes
    Align,      \* memory begins at a multiple of it
    Needs,      \* how much the driver may have to grant for a request: [Sizes -> numbers]
    Room        \* how much it can grant of each device

ASSUME
    /\ Align \in Nat \ {0} /\ Room \in Nat /\ Needs \in [Sizes -> Nat]
    /\ \A s, t \in Streams : Home[s] = Home[t] \/ Home[s] \cap Home[t] = {}

VARIABLES
    held,       \* what the program holds: from some names to [memory, stream, users]; users are recorded streams
    queues,     \* for each stream its pending work, oldest first: [uses, behind]; it is behind so many pieces
                \* of each queue (of its own: all that are before it)
    granted,    \* what the driver has granted: a set of sets of bytes, each of one device
    graphs      \* for each graph [streams, memory]: the streams that are captured into it now, and what mallocs
                \* on its captured streams returned (what else it uses the program must hold while it runs)

abstractVars == <<held, queues, granted, graphs>>

(***************************************************************************)
(* Order and time.                                                         *)
(***************************************************************************)

\* The next work of a stream will be behind so many pieces of each queue: of others, behind those that its last
\* piece is behind.  If stream 1 waits for the third piece of stream 2, its work from then on is behind three there.
Behind(q, s) ==
    [t \in Streams |-> IF t = s THEN Len(q[s]) ELSE IF q[s] = <<>> THEN 0 ELSE q[s][Len(q[s])].behind[t]]

\* Some streams launch work that uses memory.  A stream waits on the device, not the program: behind these pieces.
Used(q, streams, memory) ==
    [s \in Streams |-> IF s \in streams THEN Append(q[s], [uses |-> memory, behind |-> Behind(q, s)]) ELSE q[s]]
Waiting(q, s, pieces) == [q EXCEPT ![s] = Append(@, [uses |-> {}, behind |-> pieces])]
Longest(q) == CHOOSE n \in {Len(q[s]) : s \in Streams} : \A s \in Streams : Len(q[s]) <= n
Counts(q) == {n \in [Streams -> 0..Longest(q)] : \A s \in Streams : n[s] <= Len(q[s])}

\* Work completes at any time, in order.  So many pieces of each queue can have completed, and what is left.
Completable(q, n) == \A s \in Streams : \A i \in 1..n[s], t \in Streams : q[s][i].behind[t] <= n[t]
Left(q, n) ==
    [s \in Streams |-> [i \in 1..(Len(q[s]) - n[s]) |->
        [q[s][i + n[s]] EXCEPT !.behind = [t \in Streams |-> IF @[t] <= n[t] THEN 0 ELSE @[t] - n[t]]]]]
TimePasses(q) == \E n \in Counts(q) : Completable(q, n) /\ queues' = Left(q, n)

(***************************************************************************)
(* The rules.                                                              *)
(***************************************************************************)

HeldBytes(h) == UNION {h[x].memory : x \in DOMAIN h}
GraphBytes(gs) == UNION {graphs[g].memory : g \in gs}
Into(s) == {g \in Graphs : s \in graphs[g].streams}     \* the graphs into which a stream is captured

\* The next work of a stream comes after all pending uses of memory.
InOrderFor(memory, s, q) ==
    \A t \in Streams : \A i \in DOMAIN q[t] : q[t][i].uses \cap memory # {} => i <= Behind(q, s)[t]

MayBeTaken(memory, s, q) ==
    /\ memory \cap (HeldBytes(held) \cup GraphBytes(Graphs \ Into(s))) = {}
    /\ InOrderFor(memory, s, q)

AllIsGranted ==
    /\ HeldBytes(held) \cup GraphBytes(Graphs) \subseteq UNION granted
    /\ \A s \in Streams : \A i \in DOMAIN queues[s] : queues[s][i].uses \subseteq UNION granted

RECURSIVE Sum(_)
Sum(grants) == IF grants = {} THEN 0 ELSE LET y == CHOOSE y \in grants : TRUE IN Cardinality(y) + Sum(grants \ {y})

\* While a stream of the device is captured, nothing need be returned; else all that no allocation and no graph has.
CannotServe(s, bytes) ==
    LET captures == \E g \in Graphs : \E t \in graphs[g].streams : Home[t] = Home[s]
        kept     == {y \in granted : y \subseteq Home[s] /\ (captures \/ y \cap (HeldBytes(held) \cup GraphBytes(Graphs)) # {})}
    IN Sum(kept) + Needs[bytes] > Room

(***************************************************************************)
(* What happens.  In each call of the program the allocator may wait, let  *)
(* one stream wait, and take and return memory: granted' is anything with  *)
(* AllIsGranted'.                                                          *)
(***************************************************************************)
Meanwhile(q) ==
    /\ \/ TimePasses(q)
       \/ \E s \in Streams, p \in Counts(q) :
             (\A t \in Streams : Behind(q, s)[t] <= p[t]) /\ TimePasses(Waiting(q, s, p))
    /\ AllIsGranted'

Malloc(s, bytes) ==
    \E x \in Names \ DOMAIN held : \E low, high \in Home[s] :
        LET memory == {a \in Home[s] : a \in low..high}
        IN /\ low..high \subseteq Home[s] /\ low % Align = 0 /\ high - low + 1 >= bytes
           /\ held' = [y \in DOMAIN held \cup {x} |->
                          IF y = x THEN [memory |-> memory, stream |-> s, users |-> {}] ELSE held[y]]
           /\ graphs' = [g \in Graphs |-> IF g \in Into(s) THEN [graphs[g] EXCEPT !.memory = @ \cup memory] ELSE graphs[g]]
           /\ Meanwhile(queues) /\ MayBeTaken(memory, s, queues')

\* Time passes, the program lets a stream wait, the cache is emptied or filled, a malloc fails, or nothing happens.
NoAllocationChanges == UNCHANGED <<held, graphs>> /\ Meanwhile(queues)

OutOfMemory(s, bytes) == CannotServe(s, bytes) /\ NoAllocationChanges

\* The program uses memory on its stream or a recorded one.  (What it launches in a capture runs with the graph.)
Launch(x, s) ==
    /\ s \in {held[x].stream} \cup held[x].users /\ Into(s) = {}
    /\ UNCHANGED <<held, graphs>>
    /\ Meanwhile(Used(queues, {s}, held[x].memory))

RecordStream(x, s) ==
    /\ s # held[x].stream
    /\ held' = [held EXCEPT ![x].users = @ \cup {s}] /\ UNCHANGED graphs
    /\ Meanwhile(queues)

\* The last use of each recorded stream is launched in this step, before the free; it stands for those before it.
Free(x) ==
    /\ held' = [y \in DOMAIN held \ {x} |-> held[y]] /\ UNCHANGED graphs
    /\ Meanwhile(Used(queues, held[x].users, held[x].memory))

\* The streams that are captured into a graph change: a capture begins, another stream joins, or it ends ({}).
Capture(g, streams) ==
    /\ graphs' = [graphs EXCEPT ![g].streams = streams] /\ UNCHANGED held /\ Meanwhile(queues)

Destroy(g) ==
    /\ graphs[g].streams = {}
    /\ graphs' = [graphs EXCEPT ![g].memory = {}] /\ UNCHANGED held /\ Meanwhile(queues)

Init ==
    /\ held = [x \in {} |-> {}] /\ granted = {}
    /\ queues = [s \in Streams |-> <<>>]
    /\ graphs = [g \in Graphs |-> [streams |-> {}, memory |-> {}]]

Next ==
    \/ NoAllocationChanges
    \/ \E s \in Streams, n \in Sizes : Malloc(s, n)
    \/ \E x \in DOMAIN held : Free(x) \/ \E s \in Streams : Launch(x, s) \/ RecordStream(x, s)
    \/ \E g \in Graphs : Destroy(g) \/ \E streams \in SUBSET Streams : Capture(g, streams)

StepsAreSafe == [][Next]_abstractVars

Spec == Init /\ StepsAreSafe

(***************************************************************************)
(* What follows.                                                           *)
(***************************************************************************)

AllocationsAreDisjoint == \A x, y \in DOMAIN held : x # y => held[x].memory \cap held[y].memory = {}

\* Pending uses of what is held are those of its recorded streams, or come before the next work of its stream.
InOrder ==
    \A x \in DOMAIN held : \A t \in Streams \ held[x].users : \A i \in DOMAIN queues[t] :
        queues[t][i].uses \cap held[x].memory # {} => i <= Behind(queues, held[x].stream)[t]
=============================================================================
