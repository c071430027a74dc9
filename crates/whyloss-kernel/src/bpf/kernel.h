/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Declares the few fields and functions of the kernel that these programs use.
 *
 * The loader finds the offset of each field in the running kernel (CO-RE: `preserve_access_index`
 * records names, not offsets). The order and the size of these structures therefore mean nothing. A
 * bit field needs more than an offset: see `kernel_state`.
 */
#ifndef WHYLOSS_KERNEL_H
#define WHYLOSS_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed short s16;
typedef signed int s32;
typedef signed long long s64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

#define SEC(name) __attribute__((section(name), used))
#define KSYM __attribute__((section(".ksyms")))
#define INLINE static inline __attribute__((always_inline))
/* The notation of map definitions that the loader expects. */
#define UINT(name, value) int(*name)[value]
#define TYPE(name, type) typeof(type) *name

enum {
	MAP_TYPE_ARRAY = 2,
	MAP_TYPE_SK_STORAGE = 24,
	MAP_TYPE_RINGBUF = 27,
	F_NO_PREALLOC = 1,
	SK_STORAGE_CREATE = 1,
};

/* Helpers, by their numbers in the kernel's ABI (linux/bpf.h). */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static void *(*const bpf_sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static long (*const bpf_seq_write)(void *seq, const void *data, u32 bytes) = (void *)127;
static void *(*const bpf_ringbuf_reserve)(void *map, u64 bytes, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static void *(*const bpf_skc_to_tcp_sock)(void *sk) = (void *)137;

/* Congestion events other than acknowledgements. The programs pass them to CUBIC without reading
 * them.
 */
enum tcp_ca_event { CA_EVENT_TX_START };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
};

struct ns_common {
	u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport; /* network byte order */
	u16 skc_num;
	u16 skc_family;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
};

struct tcp_options_received {
	u32 rcv_tsval; /* the peer's latest timestamp, in its ticks (Linux: ms) */
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp; /* us, when the current packet arrived or the timer expired */
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_cwnd;     /* segments */
	u32 snd_ssthresh; /* segments */
	u32 prior_cwnd;
	u32 mss_cache;   /* payload of a full segment */
	u32 packets_out; /* segments sent and not cumulatively acknowledged */
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 high_seq;
	u32 undo_marker;
	u32 tlp_high_seq;
	u32 app_limited;
	u32 delivered; /* segments */
	u8 ecn_flags;
	struct tcp_options_received rx_opt;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*min_tso_segs)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
	void *value;
};

#pragma clang attribute pop

/* icsk_ca_state */
enum { OPEN, DISORDER, CWR, RECOVERY, LOSS };
/* ecn_flags: ECN was negotiated. */
enum { ECN_OK = 1 };
/* flags: unprivileged processes may choose this control, and a namespace may make it its
 * default.
 */
enum { NON_RESTRICTED = 1 };
enum { AF_INET6 = 10 };

/* Properties of a field that the loader fills in (CO-RE). */
enum { FIELD_OFFSET = 0, FIELD_SHIFT_LEFT = 4, FIELD_SHIFT_RIGHT = 5 };

/* Kernel functions: Reno's growth, and Reno's undo after a spurious loss. */
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) KSYM;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) KSYM;

#endif
