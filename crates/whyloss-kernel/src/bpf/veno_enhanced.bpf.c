// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Enhanced Veno: Veno that keeps its window at a random loss, unless congestion losses get more
 * frequent.
 *
 * Zhou & Fu, IEEE Communications Letters 10(6), 2006, as described by ElAarag, Moedinger & Hogg
 * 2008, section 10.2. B: see veno.h.
 *
 *	congestion avoidance	B < 3: a segment a round trip; else one in two
 *	random			ssthresh = max(cwnd, 2); while congestion losses get more frequent max(4*cwnd/5, 2)	segments
 *	congestion, timeout	ssthresh = max(cwnd/2, 2)
 *
 * RANDOM_WHILE_CONGESTIVE is reported as congestion. Growth and fractions: veno_ops.h. The verdict
 * has no error.
 */
#include "veno_ops.h"

/* Returns the new threshold, in segments. */
INLINE u32 decide(struct sock *sk, struct socket_state *p, enum detection detection)
{
	struct tcp_sock *tp = tcp_of(sk);
	u32 ssthresh = tp->snd_cwnd / 2;
	enum judgement judgement = QUEUED;

	if (detection != MARK)
		judgement = enhanced_judge(&p->judge, tp->tcp_mstamp, tp->snd_cwnd, detection == TIMEOUT);
	if (judgement == RANDOM)
		ssthresh = tp->snd_cwnd;
	else if (judgement == RANDOM_WHILE_CONGESTIVE)
		ssthresh = fourfifths(tp->snd_cwnd);
	return answer(sk, p, detection, judgement == RANDOM ? WIRELESS : CONGESTION, most(ssthresh, 2));
}

INLINE void learn(struct tcp_sock *tp, struct socket_state *p, u32 acked, s32 rtt_us)
{
	enhanced_ack(&p->judge, rtt_us);
}

SEC("struct_ops")
void veno_enhanced_avoid(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct socket_state *p = state_of(sk);

	grow(sk, p, p && p->judge.rtt_us && enhanced_queued(&p->judge, tcp_of(sk)->snd_cwnd), ctx[1], ctx[2]);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops veno_enhanced = {
	COMMON("wl_veno_enh"),
	ANSWERS,
	.cong_avoid = (void *)veno_enhanced_avoid,
	.set_state = (void *)wl_state,
};
