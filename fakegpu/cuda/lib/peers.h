// Work that waits for other processes: peers.c.
#ifndef GAUGEBLOCK_PEERS_H
#define GAUGEBLOCK_PEERS_H

#include "core.h"

// gaugeblock_waits_for says that the work that a stream was given last waits until a channel has a number.
GAUGEBLOCK_API void gaugeblock_waits_for(void *stream, int channel, uint64_t number);

// gaugeblock_on_arrival says how the host waits for that.
GAUGEBLOCK_API void gaugeblock_on_arrival(void (*wait)(int channel, uint64_t number));

// gaugeblock_follow sees the operations of the machine before they are performed.
void gaugeblock_follow(int operation, const uint64_t *words);

#endif
