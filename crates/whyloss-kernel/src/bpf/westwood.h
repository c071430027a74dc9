/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Westwood's filter by time (`bandwidth/westwood.rs` of the core, `Gain::Timed`; BAL-1).
 *
 *	b_k  = d_k/D_k					d_k bytes: two segments at most; D_k us since the sample before
 *	Bw_k = ((2t - D_k)*Bw_(k-1) + D_k*(b_k + b_(k-1)))/(2t + D_k),		t = 1 s
 *	whenever t/10 passes without acknowledgement, b = 0 is sampled: Bw = 19/21*Bw + b_(k-1)/21
 *
 * Fixed point. Rates are below 2^40 sixteenths. 2t + D_k is below 2^22, because D_k is below t/10 +
 * 10 ms; longer silences are virtual samples. Every product is therefore below 2^62. Errors, in
 * bytes/s:
 *
 *	e_k <= a_k*e_(k-1) + (1 - a_k)*1/32 + 1/32,	a_k = (2t - D_k)/(2t + D_k)	rounding of b_k and b_(k-1), and of Bw_k
 *	e   <= 19/21*e + 1/32						for each virtual sample
 *
 * With n evenly spaced acknowledgements a second, 1 - a is about 1/n, and e stays below (n + 1)/32
 * byte/s. This is 31 byte/s on a link of 1.25 MB/s with 1000 acknowledgements a second. The
 * comparison with the core computes the recursion itself, sample by sample.
 */
#ifndef WHYLOSS_WESTWOOD_H
#define WHYLOSS_WESTWOOD_H

#include "rate.h"

enum {
	TWO_TAU = 2000000,
	IDLE = 100000,	    /* t/10, us */
	REMAINDER = 10000,  /* a shorter remainder belongs to the interval before it, us */
	MOST_IDLE = 512,    /* 2^40*(19/21)^512 is below one unit */
};

INLINE u64 idle(struct estimator *e, u64 before, u64 *span)
{
	u64 samples, left;

	if (*span < IDLE)
		return before;
	samples = *span / IDLE;
	left = *span % IDLE;
	if (left < REMAINDER) {
		samples--;
		left += IDLE;
	}
	if (!samples)
		return before;
	before = rounded(19 * before + e->sample, 21);
	e->sample = 0;
	for (int i = 1; i < MOST_IDLE; i++) {
		if ((u64)i >= samples)
			break;
		before = rounded(19 * before, 21);
	}
	if (samples > MOST_IDLE)
		before = 0;
	*span = left;
	return before;
}

/* Handles an acknowledgement of `acked` bytes at `now`, in us. */
INLINE void westwood_sample(struct estimator *e, u64 now, u32 acked, u32 mss)
{
	u32 counted = acked_count(e, acked, mss, 2);
	u64 span, before, sample;

	if (!e->started) {
		e->started = true;
		e->last = now;
		return;
	}
	e->pending += counted;
	if (now <= e->last)
		return;
	span = now - e->last;
	before = idle(e, e->estimate, &span);
	sample = rate_of(e->pending, span);
	e->estimate = rounded((TWO_TAU - span) * before + span * (sample + e->sample), TWO_TAU + span);
	e->sample = sample;
	e->pending = 0;
	e->last = now;
}

#endif
