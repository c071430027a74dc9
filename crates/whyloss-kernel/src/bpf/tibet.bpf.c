// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* TIBET: Westwood's reaction to an estimate that averages sizes and intervals apart.
 *
 * Capone, Fratta, Martignon, IEEE TMC 3(2), 2004, as the core has it (its constants are from memory there). Formulas and errors:
 * tibet.h, westwood_ops.h. Every loss is congestion; the Vegas predictor runs beside it, for whoever watches.
 */
#include "tibet.h"
#include "vegas.h"
#include "westwood_ops.h"

SEC("struct_ops")
void tibet_init(u64 *ctx)
{
	struct socket_state *p = begin((struct sock *)ctx[0]);

	if (p)
		p->judge.congested = true;
}

/* The answer when a loss was found. */
INLINE u32 decide(struct sock *sk, struct socket_state *p, enum detection detection)
{
	return reduce(sk, p, detection, CONGESTION);
}

SEC("struct_ops")
void tibet_acked(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	const struct ack_sample *sample = (const struct ack_sample *)ctx[1];
	struct tcp_sock *tp = tcp_of(sk);
	struct socket_state *p = state_of(sk);
	enum detection detection;
	u32 acked;

	if (!p)
		return;
	acked = newly_acked(tp, p);
	if (was_passed_over(tp, p, &detection))
		tp->snd_ssthresh = decide(sk, p, detection);
	vegas_sample(&p->judge, tp->snd_cwnd, sample->rtt_us);
	tibet_sample(&p->estimator, tp->tcp_mstamp, acked, tp->mss_cache);
	tell_ack(sk, p, acked, sample->rtt_us);
}

SEC("struct_ops")
u32 tibet_ssthresh(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = tcp_of(sk);
	struct socket_state *p = state_of(sk);

	return p ? decide(sk, p, detect(tp, p)) : most(tp->snd_cwnd / 2, 2);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tibet = { LIKE_RENO(tibet, "wl_tibet") };
