/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* TIBET's estimate (`bandwidth/tibet.rs` of the core; Capone, Fratta & Martignon 2004).
 *
 *	L_k  = 0.99*L_(k-1) + 0.01*l_k		l_k bytes: every one, see acked_count
 *	T_k  = 0.99*T_(k-1) + 0.01*t_k		t_k us, since the acknowledgement before
 *	b_k  = L_k/T_k
 *	Bw_k = Bw_(k-1) + (1 - exp(-t_k/t0))*(b_k - Bw_(k-1)),	t0 = 0.5 s
 *
 * Fixed point.
 *	L, T	2^-16 byte and 2^-16 us: 99*L + l*2^16 is below 2^55, as l is taken for 2^22 bytes and t for 2^32 us at most.
 *		Each step is wrong by half a unit, of which 0.99 remains: 50 units at most, 50/65536 = 0.00077 byte or us.
 *	b	16*10^6*L is below 2^62. So b is wrong by b*(0.00077/L + 0.00077/T), and half a unit: 1/32 byte/s.
 *	exp	t_k = n*t0/16 + r. exp(-n/16) is a product of nine constants, chosen by n's bits; exp(-r/t0), r/t0 = y < 1/16, is
 *		1 - y + y^2/2 - y^3/6 + y^4/24 - y^5/120, wrong by y^6/720 < 2^-33. With the roundings of constants, products and
 *		quotients the exponential is wrong by less than 24 of 2^32.
 *	Bw	one rounded product: 1/32 byte/s.
 *
 *	e_k <= E*e_(k-1) + (1 - E)*e(b_k) + 24/2^32*|b_k - Bw_(k-1)| + 1/32 byte/s,		E = exp(-t_k/t0)
 *
 * With 1000 acknowledgements a second of 1448 bytes, e(b) is 2.6 bytes/s of 1.4 MB/s, and e is
 * below 20 bytes/s while Bw is near b.
 */
#ifndef WHYLOSS_TIBET_H
#define WHYLOSS_TIBET_H

#include "fraction.h"
#include "rate.h"

enum { SIXTEENTH = 31250 /* t0/16, us */, AVERAGE = 16 };

/* Returns exp(-t/t0), with t in us. */
INLINE u64 decay(u64 t)
{
	u64 result = ONE, n = t / SIXTEENTH, y = rounded((t % SIXTEENTH) * ONE, 16 * SIXTEENTH), term;

	/* exp(-31) rounds to zero. */
	if (n >= 496)
		return 0;
	/* Horner's scheme, from the inside: 1 - y*(1 - y/2*(1 - y/3*(1 - y/4*(1 - y/5)))) */
	term = ONE - y / 5;
	term = ONE - share_of(y / 4, term);
	term = ONE - share_of(y / 3, term);
	term = ONE - share_of(y / 2, term);
	term = ONE - share_of(y, term);
	/* The factors are exp(-1/16), exp(-2/16), exp(-4/16), ... exp(-256/16). */
	if (n & 1)
		result = share_of(result, 4034748382ULL);
	if (n & 2)
		result = share_of(result, 3790295335ULL);
	if (n & 4)
		result = share_of(result, 3344923893ULL);
	if (n & 8)
		result = share_of(result, 2605029347ULL);
	if (n & 16)
		result = share_of(result, 1580030169ULL);
	if (n & 32)
		result = share_of(result, 581260615ULL);
	if (n & 64)
		result = share_of(result, 78665070ULL);
	if (n & 128)
		result = share_of(result, 1440801ULL);
	if (n & 256)
		result = share_of(result, 483ULL);
	return share_of(result, term);
}

/* Handles an acknowledgement of `acked` bytes at `now`, in us. more[0] holds L, more[1] holds T. */
INLINE void tibet_sample(struct estimator *e, u64 now, u32 acked, u32 mss)
{
	u64 counted = acked_count(e, acked, mss, 0), bytes, span, ratio;

	if (!e->started) {
		e->started = true;
		e->last = now;
		return;
	}
	e->pending += counted;
	if (now <= e->last)
		return;
	bytes = e->pending >> 22 ? 1ULL << 22 : e->pending;
	span = now - e->last;
	if (span >> 32)
		span = 1ULL << 32;
	e->pending = 0;
	e->last = now;
	e->more[0] = rounded(99 * e->more[0] + (bytes << AVERAGE), 100);
	e->more[1] = rounded(99 * e->more[1] + (span << AVERAGE), 100);
	if (!e->more[1])
		return;
	ratio = rounded(e->more[0] * (MICROS * RATE_ONE), e->more[1]);
	if (ratio > MOST_RATE)
		ratio = MOST_RATE;
	e->estimate = e->has_estimate ? towards(e->estimate, ratio, ONE - decay(span)) : ratio;
	e->has_estimate = true;
}

#endif
