// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Lists the sockets under a control in all network namespaces: their addresses, ports and
 * states.
 */
#include "socket.h"

struct walked {
	struct introduction who;
	struct socket_state state;
};

SEC("iter/bpf_sk_storage_map")
int wl_walk(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	struct socket_state *p = ctx->value;
	void *seq = ctx->meta->seq;
	struct introduction who = {};
	struct tcp_sock *tp;

	if (!sk || !p)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	fill(&who.event, tp, p, SOCKET);
	name_ends(&who, sk);
	bpf_seq_write(seq, &who, sizeof(who));
	bpf_seq_write(seq, p, sizeof(*p));
	return 0;
}
