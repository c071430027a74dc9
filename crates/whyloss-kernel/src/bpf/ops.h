/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What all programs do alike: states, reductions taken back, ends, and growth as Reno's. */
#ifndef WHYLOSS_OPS_H
#define WHYLOSS_OPS_H

#include "socket.h"

/* The kernel's state changes. The threshold that was put off until the end of the recovery takes its place. */
INLINE void on_state(struct sock *sk, struct socket_state *p, u8 state)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct event *event;

	p->state = state;
	if (state == LOSS)
		p->ssthresh = 0;
	if (state <= DISORDER && p->ssthresh) {
		if (p->ssthresh > tp->snd_ssthresh)
			tp->snd_ssthresh = p->ssthresh;
		p->ssthresh = 0;
	}
	event = tell(sk, p, STATE);
	if (event)
		bpf_ringbuf_submit(event, 0);
}

/* Undoes a window reduction, because the packets counted as lost had arrived. */
SEC("struct_ops")
u32 wl_undo(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct socket_state *p = state_of(sk);
	struct event *event;

	if (p) {
		p->ssthresh = 0;
		event = tell(sk, p, UNDO);
		if (event)
			bpf_ringbuf_submit(event, 0);
	}
	return tcp_reno_undo_cwnd(sk);
}

SEC("struct_ops")
void wl_release(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct socket_state *p = state_of(sk);
	struct event *event;

	if (!p)
		return;
	event = tell(sk, p, CLOSED);
	if (event)
		bpf_ringbuf_submit(event, 0);
}

/* The programs of every control, and the name of src/control.rs. */
#define COMMON(called)					\
	.undo_cwnd = (void *)wl_undo,			\
	.release = (void *)wl_release,			\
	.flags = NON_RESTRICTED,			\
	.name = called

#endif
