/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the odds of congestion are answered with, in segments. */
#ifndef WHYLOSS_RESPONSE_H
#define WHYLOSS_RESPONSE_H

#include "cubic.h"

/* The new threshold. */
INLINE u32 respond(struct sock *sk, enum cause cause)
{
	return cause == WIRELESS ? most(tcp_of(sk)->snd_cwnd, 2) : cubictcp_recalc_ssthresh(sk);
}

#endif
