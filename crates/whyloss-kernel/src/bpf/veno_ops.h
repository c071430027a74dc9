/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Growth and fractions of Veno's controls. For half of Reno's growth, Reno receives half of the
 * acknowledged segments; an odd segment is carried over. Fractions are rounded down to segments.
 */
#ifndef WHYLOSS_VENO_OPS_H
#define WHYLOSS_VENO_OPS_H

#include "answers.h"
#include "state.h"
#include "veno.h"

INLINE u32 fourfifths(u32 cwnd)
{
	return (u64)cwnd * 4 / 5;
}

/* Handles an acknowledgement of `acked` segments. Passes half of them to Reno if `queued` and
 * slow start is over.
 */
INLINE void grow(struct sock *sk, struct socket_state *p, bool queued, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_of(sk);

	if (p && queued && tp->snd_cwnd >= tp->snd_ssthresh) {
		acked += p->odd;
		p->odd = acked % 2;
		acked /= 2;
		if (!acked)
			return;
	}
	tcp_reno_cong_avoid(sk, ack, acked);
}

#endif
