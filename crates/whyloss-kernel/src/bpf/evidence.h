/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Computes the evidence about a loss that the trees of the scheme weigh
 * (`congestion/whyloss/evidence.rs` of the library, which has the units).
 *
 * The signals are already at their place behind it.
 */
#ifndef WHYLOSS_EVIDENCE_H
#define WHYLOSS_EVIDENCE_H

#include "signals.h"

/* The number of segments up to which windows are told apart, so that products fit into 64 bits. */
#define MOST_SEGMENTS (1ULL << 24)

INLINE s16 limited(u64 value)
{
	return value < 32767 ? value : 32767;
}

/* Returns value * unit / whole; 0 if the divisor is 0. */
INLINE s16 share(u64 value, u64 unit, u64 whole)
{
	return whole ? limited(value * unit / whole) : 0;
}

INLINE u64 micros(s64 ns)
{
	return ns > 0 ? (u64)ns / NANOS : 0;
}

INLINE u64 beyond(u64 value, u64 least)
{
	return value > least ? value - least : 0;
}

/* Returns ten times the number of segments. */
INLINE u64 tenths(u64 window, u32 mss)
{
	u64 whole = window / most(mss, 1);

	return 10 * (whole < MOST_SEGMENTS ? whole : MOST_SEGMENTS);
}

/* Counts a loss at `window` bytes, after the means of cut.h, and describes it. */
INLINE void gather(struct signals *s, u64 window, u32 mss, s32 rank, s32 odds)
{
	s64 trough = real_whole(s->trough);
	const struct standing *standing = largest_of(s);
	u64 m = micros(s->longer.both.min), last = micros(s->rtt), largest = micros(standing->rtt);
	u64 wait = beyond(micros(s->rtt < trough ? s->rtt : trough), m);
	u64 before = beyond(micros(s->rtt > s->rtt_before ? s->rtt : s->rtt_before), m);
	u64 depth = beyond(largest, m);
	s16 *of = s->evidence;

	s->losses++;
	of[0] = rank >> 6;
	of[1] = s->mean.rank >> 6;
	of[2] = s->long_mean.rank >> 6;
	of[3] = odds > 32767 ? 32767 : odds < -32768 ? -32768 : odds;
	of[4] = s->mean.odds;
	of[5] = s->long_mean.odds;
	of[6] = s->empties >> 6;
	of[7] = share(s->met[0].empty + s->met[1].empty, 1024, s->met[0].all + s->met[1].all);
	of[8] = share(s->flat[0].flat + s->flat[1].flat, 1024, s->flat[0].all + s->flat[1].all);
	of[9] = share(wait, 1024, m);
	of[10] = share(before, 1024, m);
	of[11] = limited(wait / 100);
	of[12] = limited(depth / 100);
	of[13] = limited(m / 100);
	of[14] = share(tenths(standing->window, mss), depth, largest);
	of[15] = share(tenths(window, mss), beyond(last, m), last);
	of[16] = limited(window / most(mss, 1));
	of[17] = limited(s->losses);
	of[18] = share(beyond(s->acknowledged, s->lost_at), 64, window);
	s->lost_at = s->acknowledged;
}

#endif
