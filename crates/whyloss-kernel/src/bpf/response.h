/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Cuts the kernel's window, as the library's controller does (`congestion/whyloss.rs`).
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
#include "cut.h"

/* The kernel's ssthresh before the first slow start ends. */
enum { INFINITE = 0x7fffffff };

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

#endif
