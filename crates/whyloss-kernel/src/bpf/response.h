/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Cuts the window by the odds, as the library's controller does (`congestion/whyloss.rs`).
 *
 * The formula stands there. The cut is in thousandths of CUBIC's reduction:
 *
 *	0		keeps cwnd and ssthresh, so that slow start goes on
 *	0, timeout	ssthresh = max(cwnd, ssthresh), cwnd = 1
 *	c		ssthresh = cwnd - c/1000 of what CUBIC takes off, its curve begins anew
 *	c, timeout	CUBIC's reduction
 *
 * During a recovery ssthresh is cwnd even at a cut of 0, because the kernel sets the window to
 * ssthresh at its end. The old ssthresh comes back after that (`on_state`).
 */
#ifndef WHYLOSS_RESPONSE_H
#define WHYLOSS_RESPONSE_H

#include "cubic.h"
#include "signals.h"

enum {
	FULL = 1000,
	/* Own segments in the largest queue above which a queue counts as seen. */
	SEEN = 6,
	/* A queue is empty up to this delay, in ns, and up to this share of the largest. */
	EMPTY_NS = 4000000,
	EMPTY_SHARE = 8,
	/* 65536ths: the share of losses at an empty queue above which the odds decide. */
	EVIDENCE = 65536 / 8,
	MEMORY = 16,
	/* Thousandths of log-odds. */
	FIRST_CUT = 500,
	SLOW_START = 1000,
	/* The kernel's ssthresh before the first cut. */
	INFINITE = 0x7fffffff,
};

/* Returns whether the path has shown a queue. Dividing avoids the library's 128-bit products. */
INLINE bool is_seen(s64 least_ns, s64 largest_ns, u32 in_flight)
{
	u64 depth = largest_ns - least_ns;

	if (largest_ns <= least_ns)
		return false;
	return in_flight >= ((u64)SEEN * largest_ns + depth - 1) / depth || 3 * depth >= (u64)least_ns;
}

INLINE bool is_empty(s64 least_ns, s64 largest_ns, s64 now_ns)
{
	s64 waits = now_ns - least_ns;

	return waits <= EMPTY_NS && waits * EMPTY_SHARE <= largest_ns - least_ns;
}

/* Returns the cut for a loss with these odds, in thousandths. */
INLINE u32 cut_of(struct signals *s, s32 odds, u32 in_flight, bool starting)
{
	s64 least_ns = s->longer.both.min, largest_ns = s->troughs.both.max;
	s64 trough = real_whole(s->trough);
	bool empty;
	u32 over;

	if (odds == NO_ODDS)
		return FULL;
	if (starting)
		return odds <= SLOW_START ? 0 : FULL;
	if (!is_seen(least_ns, largest_ns, in_flight))
		return FULL;
	empty = is_empty(least_ns, largest_ns, s->rtt < trough ? s->rtt : trough);
	if (empty)
		s->empties += (65536 - s->empties) / MEMORY;
	else
		s->empties -= s->empties / MEMORY;
	if (empty)
		return 0;
	if (s->empties < EVIDENCE)
		return FULL;
	if (odds <= FIRST_CUT)
		return 0;
	over = odds - FIRST_CUT;
	return over < FULL ? over : FULL;
}

/* Returns whether slow start has not been cut yet. */
INLINE bool is_starting(struct tcp_sock *tp, struct socket_state *p)
{
	/* Before a late answer the kernel has overwritten ssthresh. */
	return !p->answering_late && tp->snd_ssthresh >= INFINITE;
}

/* Returns the new threshold, in segments. */
INLINE u32 respond(struct sock *sk, struct socket_state *p, enum detection detection, u32 cut)
{
	struct tcp_sock *tp = tcp_of(sk);
	u32 keep = most(tp->snd_cwnd, 2), reduced;

	if (cut) {
		reduced = cubictcp_recalc_ssthresh(sk);
		if (cut >= FULL || detection == TIMEOUT || reduced >= keep)
			return reduced;
		return keep - (u64)(keep - reduced) * cut / FULL;
	}
	if (p->answering_late)
		return keep;
	if (detection == TIMEOUT)
		return is_starting(tp, p) ? keep : most(keep, tp->snd_ssthresh);
	p->ssthresh = tp->snd_ssthresh;
	return keep;
}

#endif
