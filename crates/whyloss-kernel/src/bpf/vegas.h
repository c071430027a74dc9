/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The Vegas predictor: estimates how many segments of the window wait in queues (`sender/vegas.rs`
 * of the core; MAR-1, MAR-2).
 *
 *	V_P = cwnd*(RTT - RTT_min)/RTT		segments
 *	V_P >= 3: congested;  V_P <= 1: not;  between: as before;  at first: congested
 *
 * Fixed point is not needed. Multiplied by RTT, both comparisons are between whole numbers,
 *
 *	cwnd*(RTT - RTT_min) >= 3*RTT,		cwnd < 2^32 segments, RTT < 2^31 us: below 2^63
 *
 * so the state equals that of the core, which compares the same products in bytes and nanoseconds.
 * The error is 0.
 */
#ifndef WHYLOSS_VEGAS_H
#define WHYLOSS_VEGAS_H

#include "socket.h"

enum { ALPHA = 1, BETA = 3 };

/* Returns whether V_P of this window is at least this number of segments. */
INLINE bool queued(u32 cwnd, u32 rtt, u32 min_rtt, u32 segments)
{
	return (u64)cwnd * (rtt - min_rtt) >= (u64)segments * rtt;
}

/* Updates the predictor with a round-trip time and the window before its acknowledgement. */
INLINE void vegas_sample(struct judge *judge, u32 cwnd, s32 rtt_us)
{
	u32 rtt = rtt_us;

	if (rtt_us <= 0)
		return;
	judge->min_rtt_us = least(judge->min_rtt_us, rtt);
	judge->rtt_us = rtt;
	if (queued(cwnd, rtt, judge->min_rtt_us, BETA))
		judge->congested = true;
	else if ((u64)cwnd * (rtt - judge->min_rtt_us) <= (u64)ALPHA * rtt)
		judge->congested = false;
}

INLINE enum cause vegas_cause(const struct judge *judge, enum detection detection)
{
	return detection != MARK && !judge->congested ? WIRELESS : CONGESTION;
}

#endif
