/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Veno's classifiers (`sender/veno.rs` of the core).
 *
 *	B = w*(RTT - RTT_min)/RTT at the loss, segments
 *	Veno		B < 3: wireless			RTT: the smallest of the last round trip
 *	enhanced Veno	B < 3: random; wireless unless congestion losses get more frequent from one random loss to the next
 *			timeouts are congestion		RTT: smoothed with gain 1/8
 *
 * Fixed point is not needed. B is compared as in vegas.h. The smoothed round trip is kept in
 * eighths of a nanosecond, as in the core (rtt -= rtt/8, rounded down; rtt += sample). It is below
 * 2^44, and is multiplied by a window below 2^20. Rates of losses are compared as products of
 * counts (below 2^20) and times (below 2^44 us). Every verdict therefore equals that of the core.
 * Windows above 2^20 segments count as 2^20.
 */
#ifndef WHYLOSS_VENO_H
#define WHYLOSS_VENO_H

#include "vegas.h"

enum { MOST_WINDOW = 1 << 20, EIGHTHS_OF_NS = 8000 };

/* A round trip ends when all data in flight at its start is acknowledged. */
INLINE void veno_ack(struct judge *judge, struct tcp_sock *tp, s32 rtt_us)
{
	bool over = !judge->has_end || (s32)(tp->snd_una - judge->round_end) >= 0;

	if (rtt_us > 0) {
		judge->min_rtt_us = least(judge->min_rtt_us, rtt_us);
		judge->round_min_us = least(judge->round_min_us, rtt_us);
		if (!judge->has_round)
			judge->rtt_us = judge->round_min_us;
	}
	if (!over)
		return;
	judge->has_end = true;
	judge->round_end = tp->snd_nxt;
	if (judge->round_min_us != ~0U) {
		judge->rtt_us = judge->round_min_us;
		judge->round_min_us = ~0U;
		judge->has_round = true;
	}
}

INLINE bool veno_queued(const struct judge *judge, u32 cwnd)
{
	return !judge->rtt_us || queued(cwnd, judge->rtt_us, judge->min_rtt_us, BETA);
}

INLINE void enhanced_ack(struct judge *judge, s32 rtt_us)
{
	u64 sample = (u64)rtt_us * (EIGHTHS_OF_NS / 8);

	if (rtt_us <= 0)
		return;
	judge->min_rtt_us = least(judge->min_rtt_us, rtt_us);
	judge->smoothed = judge->smoothed ? judge->smoothed - judge->smoothed / 8 + sample : 8 * sample;
	judge->rtt_us = judge->smoothed / EIGHTHS_OF_NS;
}

INLINE bool enhanced_queued(const struct judge *judge, u32 cwnd)
{
	u64 least_rtt = (u64)judge->min_rtt_us * EIGHTHS_OF_NS, over;

	if (!judge->smoothed)
		return true;
	over = judge->smoothed > least_rtt ? judge->smoothed - least_rtt : 0;
	return least(cwnd, MOST_WINDOW) * over >= BETA * judge->smoothed;
}

enum judgement { RANDOM, RANDOM_WHILE_CONGESTIVE, QUEUED };

/* Judges a loss and counts it. random[0] is the time of the last random loss, and random[1] the
 * number of congestion losses since then. span[0] and span[1] are the time and the congestion
 * losses between the previous two random losses.
 */
INLINE enum judgement enhanced_judge(struct judge *judge, u64 now, u32 cwnd, bool timeout)
{
	u64 span, count;
	bool rises;

	if (timeout || enhanced_queued(judge, cwnd)) {
		judge->random[1]++;
		return QUEUED;
	}
	count = judge->random[1];
	span = now - judge->random[0];
	judge->random[0] = now;
	judge->random[1] = 0;
	rises = judge->randoms > 1 && count * judge->span[0] > judge->span[1] * span;
	if (judge->randoms) {
		judge->span[0] = span;
		judge->span[1] = count;
	}
	if (judge->randoms < 2)
		judge->randoms++;
	return rises ? RANDOM_WHILE_CONGESTIVE : RANDOM;
}

#endif
