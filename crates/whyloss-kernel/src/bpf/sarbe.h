/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* SARBE, the rate at which the receiver sent its acknowledgements (`bandwidth/sarbe.rs` of the
 * core; BAL-2).
 *
 *	b_k  = L_k/(ts_k - ts_(k-1))			L_k bytes acknowledged, ts the receiver's timestamp
 *	U_k  = 0.95*U_(k-1) + 0.05*|b_k - b_(k-1)|
 *	a    = U_k/max(U_(k-8), ..., U_k)
 *	Bw_k = b_k + a*(Bw_(k-1) - b_k)
 *
 * Timestamps are milliseconds, as Linux sends them. Acknowledgements in the same millisecond form
 * one sample, so L bytes in t ms may have taken from t - 1 to t + 1 ms. At 10 Mbit/s, with an
 * acknowledgement for two segments (2.4 ms), the samples jump between 2 and 3 ms, that is 11.6 and
 * 7.7 Mbit/s. U stays high and a near one, so the filter follows slowly; with a fine clock, it
 * would follow immediately. Above about 25 Mbit/s, samples have many segments, and the clock
 * matters less.
 *
 * Fixed point. b and U are rounded to sixteenths of a byte/s: half a unit is 1/32 byte/s.
 *	e(b) <= 1/32,	e(U_k) <= 0.95*e(U_(k-1)) + 0.05*2/32 + 1/32 <= 0.7 byte/s
 *	a is a share of 2^32: U and the largest are shifted until they are below 2^32, which loses less than 2^-31 of the largest:
 *	e(a) <= (e(U_k) + e(U_max))/U_max + 2/2^32, and 1 at most
 *	e(Bw_k) <= a*e(Bw_(k-1)) + (1 - a)*e(b) + e(a)*(|Bw_(k-1) - b_k| + e(Bw_(k-1)) + e(b)) + 1/32
 *
 * If U_max is below a byte/s, a may have any value. The samples are then equal to within a byte/s,
 * and Bw soon is as well.
 */
#ifndef WHYLOSS_SARBE_H
#define WHYLOSS_SARBE_H

#include "fraction.h"
#include "rate.h"

enum { MILLI = 1000 /* us */, INSTABILITIES = 9 };

/* more[0..9) holds U_k, U_(k-1), ... The first stamp gives no sample. */
INLINE void sarbe_sample(struct estimator *e, u32 stamp, u32 acked)
{
	u64 sample, change, largest = 0, own, share;
	s32 span;

	if (!acked)
		return;
	if (!e->started) {
		if (stamp) {
			e->started = true;
			e->last = stamp;
		}
		return;
	}
	e->pending += acked;
	span = (s32)(stamp - (u32)e->last);
	if (!stamp || span <= 0)
		return;
	sample = rate_of(e->pending, (u64)span * MILLI);
	e->pending = 0;
	e->last = stamp;
	if (!e->has_estimate) {
		e->has_estimate = true;
		e->sample = sample;
		e->estimate = sample;
		return;
	}
	change = sample > e->sample ? sample - e->sample : e->sample - sample;
	own = rounded(19 * e->more[0] + change, 20);
	for (int i = INSTABILITIES - 1; i > 0; i--)
		e->more[i] = e->more[i - 1];
	e->more[0] = own;
	for (int i = 0; i < INSTABILITIES; i++)
		if (e->more[i] > largest)
			largest = e->more[i];
	/* U is below 2^40, so nine shifts bring it below 2^32. */
	for (int i = 0; i < 9; i++)
		if (largest >> 32) {
			largest >>= 1;
			own >>= 1;
		}
	share = largest ? (own << 32) / largest : 0;
	e->estimate = towards(sample, e->estimate, share < ONE ? share : ONE);
	e->sample = sample;
}

#endif
