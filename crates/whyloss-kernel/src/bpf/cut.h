/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Decides which part of the full reduction a loss causes (`congestion/whyloss.rs` of the library).
 *
 * The library's file has the formula, with the same names. Quotients replace its 128-bit products.
 */
#ifndef WHYLOSS_CUT_H
#define WHYLOSS_CUT_H

#include "signals.h"

enum {
	/* A cut is in thousandths of CUBIC's reduction. */
	FULL = 1000,
	/* The number of own segments in the largest queue above which a queue counts as seen. */
	SEEN = 6,
	/* The share of losses at an empty queue above which the odds decide, in 65536ths. */
	EVIDENCE = 65536 / 8,
	MEMORY = 16,
	/* The mean rank up to which losses are blind to the queue, in 65536ths, and the number of
	 * losses in the mean.
	 */
	BLIND = 44564,
	RANKS = 8,
	/* The mean rank up to which the odds decide without a visible queue, in 65536ths. */
	UNSEEN = 40632,
	/* The mean log-odds up to which a channel explains most losses, and the most that one loss
	 * adds, in thousandths.
	 */
	LOSSY = -1500,
	WEIGHT = 3000,
	/* Log-odds, in thousandths. */
	FIRST_CUT = 500,
	SLOW_START = 1000,
	/* The number of losses that slow start spares while the window outgrows the delivered rate. */
	UNPAID = 8,
};

/* Counts a loss of slow start. Returns whether the delivered rate has grown enough to spare it. */
INLINE bool is_paid(struct signals *s, u64 window)
{
	if (window * 2 >= s->reached.window * 3)
		s->unpaid++;
	return s->unpaid <= UNPAID;
}

/* Updates a mean over losses. The library's division rounds towards zero; BPF has no signed
 * division.
 */
INLINE s32 nearer(s32 mean, s32 value)
{
	return value > mean ? mean + (u32)(value - mean) / RANKS : mean - (u32)(mean - value) / RANKS;
}

/* Counts the rank of a loss. Returns whether losses are blind to the queue. */
INLINE bool is_blind(struct signals *s)
{
	s->rank = nearer(s->rank, rank_of(s));
	return s->rank <= BLIND;
}

/* Counts the odds of a loss. Returns whether a channel explains most losses. */
INLINE bool is_lossy(struct signals *s, s32 odds)
{
	s->odds = nearer(s->odds, odds < -WEIGHT ? -WEIGHT : odds > WEIGHT ? WEIGHT : odds);
	return s->odds <= LOSSY;
}

/* Returns whether a channel explains the losses, even if no queue was seen. */
INLINE bool is_proven(const struct signals *s)
{
	return s->odds <= LOSSY && s->rank <= UNSEEN;
}

/* Returns whether the last two samples and half of the samples of two round trips are flat. */
INLINE bool stays_flat(const struct signals *s)
{
	s64 before = s->rtt > s->rtt_before ? s->rtt : s->rtt_before;

	return is_flat_at(s, before) && (s->flat[0].flat + s->flat[1].flat) * 2 >= s->flat[0].all + s->flat[1].all;
}

/* Returns the cut for a loss at `cwnd` segments with these odds, before `remember_loss`. */
INLINE u32 cut_of(struct signals *s, u32 cwnd, u32 mss, s32 odds, bool starting)
{
	s64 least_ns = s->longer.both.min, trough = real_whole(s->trough);
	s64 waits = (s->rtt < trough ? s->rtt : trough) - least_ns;
	u64 largest = largest_of(s)->rtt, window = largest_of(s)->window;
	u64 depth = (s64)largest > least_ns ? largest - least_ns : 0;
	u32 by_odds;
	bool blind, lossy, seen, small;

	if (odds == NO_ODDS)
		return FULL;
	by_odds = odds <= FIRST_CUT ? 0 : odds - FIRST_CUT < FULL ? odds - FIRST_CUT : FULL;
	blind = is_blind(s);
	lossy = is_lossy(s, odds);
	if (starting) {
		bool paid = is_paid(s, (u64)cwnd * mss);

		return paid && odds <= SLOW_START * (waits * 32 <= least_ns ? 2 : 1) ? 0 : FULL;
	}
	seen = depth && (window >= ((u64)SEEN * most(mss, 1) * largest + depth - 1) / depth ||
			 3 * depth >= (u64)least_ns);
	if (!seen)
		return blind && stays_flat(s) ? 0 : is_proven(s) ? by_odds : FULL;
	if (is_empty_at(s, least_ns + waits) &&
	    (s->met[0].empty + s->met[1].empty) * (blind ? 4 : 2) >= s->met[0].all + s->met[1].all) {
		s->empties += (65536 - s->empties) / MEMORY;
		return 0;
	}
	s->empties -= s->empties / MEMORY;
	/* Both times are whole microseconds, so these products fit and equal the library's. */
	small = (u64)cwnd * mss * 4 * (largest / NANOS) <= 3 * window * ((u64)least_ns / NANOS);
	return s->empties >= EVIDENCE || (lossy && blind && small) ? by_odds : FULL;
}

#endif
