// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Veno: Reno with a smaller reduction while few of its segments are queued.
 *
 * Fu & Liew, "TCP Veno", IEEE JSAC 21(2), 2003. B: see veno.h.
 *
 *	congestion avoidance	B < 3: a segment a round trip; else one in two
 *	loss, timeout		B < 3: ssthresh = max(4*cwnd/5, 2); else max(cwnd/2, 2)		segments
 *
 * Growth and fractions: veno_ops.h. The verdict has no error.
 */
#include "veno_ops.h"

/* Returns the new threshold, in segments. */
INLINE u32 decide(struct sock *sk, struct socket_state *p, enum detection detection)
{
	struct tcp_sock *tp = tcp_of(sk);
	bool random;

	random = detection != MARK && !veno_queued(&p->judge, tp->snd_cwnd);
	return answer(sk, p, detection, random ? WIRELESS : CONGESTION,
		      most(random ? fourfifths(tp->snd_cwnd) : tp->snd_cwnd / 2, 2));
}

INLINE void learn(struct tcp_sock *tp, struct socket_state *p, u32 acked, s32 rtt_us)
{
	veno_ack(&p->judge, tp, rtt_us);
}

SEC("struct_ops")
void veno_avoid(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct socket_state *p = state_of(sk);

	grow(sk, p, p && p->judge.rtt_us && veno_queued(&p->judge, tcp_of(sk)->snd_cwnd), ctx[1], ctx[2]);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops veno = {
	COMMON("wl_veno"),
	ANSWERS,
	.cong_avoid = (void *)veno_avoid,
	.set_state = (void *)wl_state,
};
