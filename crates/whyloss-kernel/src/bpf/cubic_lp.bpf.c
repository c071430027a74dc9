// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* CUBIC-LP: the kernel's own CUBIC, which keeps its window at a loss while the Vegas predictor sees
 * no queue.
 *
 *	loss, timeout, congestion	as CUBIC
 *	loss, wireless			ssthresh = cwnd
 *	timeout, wireless		ssthresh = cwnd, cwnd = 1
 *
 * Only the predictor is computed here, and its error is 0 (vegas.h). We chose this pairing; no
 * paper has it.
 */
#include "cubic.h"
#include "vegas.h"

INLINE void meet(struct sock *sk, struct socket_state *p)
{
}

INLINE u32 decide(struct sock *sk, struct socket_state *p, enum detection detection)
{
	enum cause cause = vegas_cause(&p->judge, detection);

	if (cause == WIRELESS)
		return answer(sk, p, detection, cause, most(tcp_of(sk)->snd_cwnd, 2));
	return answer(sk, p, detection, cause, cubictcp_recalc_ssthresh(sk));
}

INLINE void learn(struct sock *sk, struct socket_state *p, u32 acked, s32 rtt_us)
{
	vegas_sample(&p->judge, tcp_of(sk)->snd_cwnd, rtt_us);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops cubic_lp = { LIKE_CUBIC("wl_cubic_lp") };
