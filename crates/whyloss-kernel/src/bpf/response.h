/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a verdict is answered with, in segments.
 *
 *	congestion	what CUBIC does
 *	wireless	the window stays, and slow start goes on if it was under way: ssthresh is cwnd during the recovery, since
 *			the kernel makes the window of it at the end, and then what it was before
 *	wireless, at a timeout	ssthresh = max(cwnd, ssthresh), cwnd = 1
 *
 * That is the core's policy `keep` (policy.rs).
 */
#ifndef WHYLOSS_RESPONSE_H
#define WHYLOSS_RESPONSE_H

#include "cubic.h"

/* The new threshold. */
INLINE u32 respond(struct sock *sk, struct socket_state *p, enum detection detection, enum cause cause)
{
	struct tcp_sock *tp = tcp_of(sk);
	u32 keep = most(tp->snd_cwnd, 2);

	if (cause == CONGESTION)
		return cubictcp_recalc_ssthresh(sk);
	/* Before a late answer the kernel has put its own number there. */
	if (p->answering_late)
		return keep;
	if (detection == TIMEOUT)
		return most(keep, tp->snd_ssthresh);
	p->ssthresh = tp->snd_ssthresh;
	return keep;
}

#endif
