/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Computes rates in fixed point, and the bandwidth-delay product at a rate.
 *
 *	rate	sixteenths of a byte/s, at most 2^36 bytes/s (550 Gbit/s): below 2^40
 *	time	us
 *
 * A rounded quotient is wrong by at most half a unit, 1/32 byte/s. The file of each filter bounds
 * the resulting error of the filter. The limits on rates keep every product below 2^64. Above them,
 * estimates differ from the core's.
 */
#ifndef WHYLOSS_RATE_H
#define WHYLOSS_RATE_H

#include "socket.h"

#define RATE_ONE 16ULL
#define MOST_RATE (1ULL << 40)
#define MICROS 1000000ULL

INLINE u64 rounded(u64 number, u64 by)
{
	return (number + by / 2) / by;
}

/* Returns the rate of `bytes` in `us` microseconds. */
INLINE u64 rate_of(u64 bytes, u64 us)
{
	u64 rate;

	/* Bytes are below 2^39, so the product is below 2^63. */
	if (bytes >> 39)
		return MOST_RATE;
	rate = rounded(bytes * MICROS * RATE_ONE, us);
	return rate < MOST_RATE ? rate : MOST_RATE;
}

/* Returns the bytes that an acknowledgement accounts for, at most `at_most` segments (0: no
 * limit), like `bandwidth/acked_count.rs`.
 */
INLINE u32 acked_count(struct estimator *e, u32 acked, u32 mss, u32 at_most)
{
	u32 counted;

	if (acked == 0) {
		e->accounted += mss;
		counted = mss;
	} else if (acked <= mss) {
		counted = acked;
	} else if (e->accounted >= acked) {
		e->accounted -= acked;
		counted = mss;
	} else {
		counted = acked - e->accounted;
		e->accounted = 0;
	}
	return at_most ? least(counted, mss * at_most) : counted;
}

/* Returns Bw*RTT_min in whole segments, at least two; 0 while either is unknown. Bw is below 2^36
 * bytes/s. RTT_min counts as at most 134 s and is below 2^27 us.
 */
INLINE u32 pipe(const struct estimator *e, const struct judge *judge, u32 mss)
{
	u64 rtt = least(judge->min_rtt_us, 1U << 27);

	if (!e->estimate || judge->min_rtt_us == ~0U || !mss)
		return 0;
	return most((e->estimate / RATE_ONE) * rtt / MICROS / mss, 2);
}

#endif
