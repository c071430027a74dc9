/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Decides which part of the full reduction a loss causes (`congestion/whyloss.rs` of the library).
 *
 * The library's file has the formula, with the same names. Quotients replace its 128-bit products.
 */
#ifndef WHYLOSS_CUT_H
#define WHYLOSS_CUT_H

#include "evidence.h"
#include "trees.h"

enum {
	/* A cut is in thousandths of CUBIC's reduction. */
	FULL = 1000,
	/* The number of own segments in the largest queue from which a queue counts as seen. */
	SEEN = 6,
	/* The share of losses at an empty queue from which the odds decide, in 65536ths. */
	EVIDENT = 65536 / 8,
	MEMORY = 16,
	/* The mean rank up to which losses are blind to the queue, in 65536ths. */
	BLIND = 44564,
	/* The mean rank above which losses look like those of a queue. */
	HIGH = 3 * 65536 / 4,
	/* The number of losses in the means of the formula, and in the longer ones of the evidence. */
	LOSSES = 8,
	LONG = 32,
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
INLINE s32 nearer(s32 mean, s32 value, u32 losses)
{
	return value > mean ? mean + (u32)(value - mean) / losses : mean - (u32)(mean - value) / losses;
}

/* Adds a loss to means. */
INLINE void count_in_mean(struct mean *mean, s32 rank, s32 odds, u32 losses)
{
	mean->rank = nearer(mean->rank, rank, losses);
	mean->odds = nearer(mean->odds, odds < -WEIGHT ? -WEIGHT : odds > WEIGHT ? WEIGHT : odds, losses);
}

/* Returns the cut at these log-odds, where cuts begin at `first`. */
INLINE u32 cut_by(s32 odds, s32 first)
{
	return odds <= first ? 0 : odds - first < FULL ? odds - first : FULL;
}

/* Returns whether a channel explains the losses, even if no queue was seen. */
INLINE bool is_proven(const struct signals *s)
{
	return s->mean.odds <= LOSSY && s->mean.rank <= UNSEEN;
}

/* Returns whether the last two samples and half of the samples of two round trips are flat. */
INLINE bool stays_flat(const struct signals *s)
{
	s64 before = s->rtt > s->rtt_before ? s->rtt : s->rtt_before;

	return is_flat_at(s, before) && (s->flat[0].flat + s->flat[1].flat) * 2 >= s->flat[0].all + s->flat[1].all;
}

/* Returns a of the formula for a loss at `window` bytes, after the means counted it, or the cut of
 * the first slow start.
 */
INLINE u32 cut_by_conditions(struct signals *s, u64 window, u32 mss, s32 odds, bool starting)
{
	s64 least_ns = s->longer.both.min, trough = real_whole(s->trough);
	s64 waits = (s->rtt < trough ? s->rtt : trough) - least_ns;
	u64 largest = largest_of(s)->rtt, filled = largest_of(s)->window;
	u64 depth = (s64)largest > least_ns ? largest - least_ns : 0;
	bool blind = s->mean.rank <= BLIND, seen, small;

	if (starting) {
		bool paid = is_paid(s, window);

		return paid && odds <= SLOW_START * (waits * 32 <= least_ns ? 2 : 1) ? 0 : FULL;
	}
	seen = depth && (filled >= ((u64)SEEN * most(mss, 1) * largest + depth - 1) / depth ||
			 3 * depth >= (u64)least_ns);
	if (!seen)
		return blind && stays_flat(s) ? 0 : is_proven(s) ? cut_by(odds, FIRST_CUT) : FULL;
	if (is_empty_at(s, least_ns + waits) &&
	    (s->met[0].empty + s->met[1].empty) * (blind ? 4 : 2) >= s->met[0].all + s->met[1].all) {
		s->empties += (65536 - s->empties) / MEMORY;
		return 0;
	}
	s->empties -= s->empties / MEMORY;
	/* Both times are whole microseconds, so these products fit and equal the library's. */
	small = window * 4 * (largest / NANOS) <= 3 * filled * ((u64)least_ns / NANOS);
	return s->empties >= EVIDENT || (s->mean.odds <= LOSSY && blind && small) ? cut_by(odds, FIRST_CUT) : FULL;
}

/* Returns the cut for a loss at `window` bytes with these odds, before `remember_loss`. */
INLINE u32 cut_of(struct signals *s, u64 window, u32 mss, s32 odds, bool starting)
{
	s32 rank;
	u32 cut, own;

	if (odds == NO_ODDS)
		return FULL;
	rank = rank_of(s);
	count_in_mean(&s->mean, rank, odds, LOSSES);
	count_in_mean(&s->long_mean, rank, odds, LONG);
	cut = cut_by_conditions(s, window, mss, odds, starting);
	gather(s, window, mss, rank, odds);
	if (!cut || starting || s->mean.odds > 0 || s->mean.rank > HIGH)
		return cut;
	own = cut_by(log_odds(OF_SCHEME, s), wl_forests[OF_SCHEME].threshold);
	return own < cut ? own : cut;
}

#endif
