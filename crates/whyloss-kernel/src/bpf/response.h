/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Cuts the kernel's window like the library's controller (`congestion/whyloss.rs`).
 *
 *	0		keeps cwnd and ssthresh, so that slow start continues
 *	0, timeout	ssthresh = max(cwnd, ssthresh), cwnd = 1
 *	c		ssthresh = cwnd - c/1000 of CUBIC's reduction; its curve restarts
 *	c, timeout	CUBIC's reduction
 *
 * During a recovery, ssthresh is cwnd even at a cut of 0, because the kernel sets the window to
 * ssthresh when the recovery ends. Afterwards, `on_state` restores the old ssthresh.
 */
#ifndef WHYLOSS_RESPONSE_H
#define WHYLOSS_RESPONSE_H

#include "cubic.h"
#include "cut.h"

enum {
	/* The kernel's ssthresh before the first slow start ends. */
	INFINITE = 0x7fffffff,
	/* The kernel's tcp_min_tso_segs, unless it was changed. */
	MIN_TSO_SEGS = 2,
};

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
		return tp->snd_ssthresh >= INFINITE ? keep : most(keep, tp->snd_ssthresh);
	p->ssthresh = tp->snd_ssthresh;
	return keep;
}

/* Returns whether a recovery without a cut is in progress and a channel explains the losses. */
INLINE bool is_spared(struct tcp_sock *tp, const struct socket_state *p, const struct signals *s)
{
	return p->state == RECOVERY && kernel_state(tp) == RECOVERY && !p->judge.cut && !p->judge.starting &&
	       tp->snd_ssthresh < INFINITE && is_proven(s);
}

/* Grows the window in a recovery without a cut, by the segments that arrived.
 *
 * The kernel replaces the window by ssthresh when a recovery ends, so CUBIC grows ssthresh. The
 * acknowledgement that ends the recovery grows the window in the kernel.
 */
INLINE void grow_in_recovery(struct sock *sk, const struct socket_state *p, const struct signals *s, u32 arrived)
{
	struct tcp_sock *tp = tcp_of(sk);
	u32 cwnd = tp->snd_cwnd;

	if (!is_spared(tp, p, s) || (s32)(tp->high_seq - tp->snd_una) <= 0 || !arrived)
		return;
	tp->snd_cwnd = tp->snd_ssthresh;
	cubictcp_cong_avoid(sk, tp->snd_una, arrived);
	tp->snd_ssthresh = tp->snd_cwnd;
	tp->snd_cwnd = cwnd;
}

/* Fills the window in a recovery without a cut.
 *
 * Proportional rate reduction sends one segment for each one that arrives. Each segment found lost
 * would shrink the flight, which would stay below ssthresh while one recovery follows another.
 */
INLINE void fill_in_recovery(struct tcp_sock *tp, const struct socket_state *p, const struct signals *s)
{
	if (is_spared(tp, p, s))
		tp->snd_cwnd = most(tp->snd_cwnd, tp->snd_ssthresh);
}

#endif
