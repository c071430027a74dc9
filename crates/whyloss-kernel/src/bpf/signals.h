/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Computes the sixteen signals of a loss from the acknowledgements before it.
 *
 * `sender/trees/signals.rs` of the library has the formulas. This file computes them in the same
 * order with the same reals (real.h), so each signal is the same number. Delays are in nanoseconds
 * as in the library, although the kernel has microseconds, because filters round differently in
 * another unit.
 */
#ifndef WHYLOSS_SIGNALS_H
#define WHYLOSS_SIGNALS_H

#include "real.h"
#include "socket.h"

enum {
	SIGNALS = 16,
	/* The evidence of evidence.h: the number of quantities, the signals that follow included, and
	 * the size of their array, a power of two.
	 */
	BEFORE_SIGNALS = 19,
	EVIDENCE = BEFORE_SIGNALS + SIGNALS,
	EVIDENCE_ROOM = 64,
	CLASSES = 16,
	/* The number of edge-moving acknowledgements before the signals are meaningful. */
	WARM_UP = 8,
	/* The number of samples in a round trip before its smallest one reveals a queue. */
	SAMPLES = 8,
	/* The number of round-trip times among which the one before a loss is ranked. */
	RECENT = 64,
	/* The delay up to which a queue is empty. */
	EMPTY_NS = 4000000,
};

#define SHORT_US 10000000ULL
#define LONG_US 60000000ULL
#define NANOS 1000LL
/* Extrema of windows and backlogs count in parts of a segment. */
#define PARTS 100

#define S64_MAX 0x7fffffffffffffffLL
#define S64_MIN (-S64_MAX - 1)

struct span {
	s64 min;
	s64 max;
};

/* The extrema of the current bucket of time, and of the current and the previous one together. */
struct extrema {
	struct span now;
	struct span both;
};

/* The largest of the smallest round-trip times of whole round trips, and the window after it. */
struct standing {
	s64 rtt;    /* ns; 0: none */
	u64 window; /* bytes */
};

/* The bytes acknowledged in a round trip: those that met an empty queue, and all. */
struct met {
	u64 empty;
	u64 all;
};

/* The samples of a round trip: those at a flat round-trip time, and all. */
struct flat {
	u32 flat;
	u32 all;
};

/* The delivered rate at its last increase by a quarter within a round trip, and the round trip
 * in progress.
 */
struct reached {
	u64 began; /* us, start of the current round trip */
	u64 from;  /* bytes acknowledged by then */
	u64 rate;  /* bytes/s */
	u64 window; /* bytes, at the end of that round trip */
};

struct density {
	real came[CLASSES];
	real lost[CLASSES];
};

/* Means over losses. */
struct mean {
	s32 rank; /* of the round-trip time before a loss, 65536ths */
	s32 odds; /* thousandths */
};

struct signals {
	u64 advanced; /* us, when an acknowledgement last moved the edge */
	u64 first_duplicate;
	u64 since[2]; /* us, when the buckets of the short and the long time began */
	s64 rtt;      /* ns */
	s64 rtt_before;
	real trough;
	struct extrema shorter;
	struct extrema longer;
	struct standing standing[2]; /* of the current and the previous bucket of the long time */
	struct met met[2];		    /* of the current and the previous round trip */
	struct reached reached;
	s64 round_min;		     /* ns, outside recoveries */
	struct extrema windows;
	struct extrema backlogs;
	struct extrema t_min;
	real t_avg;
	real irregular;
	u64 round_end;
	u64 began[2]; /* bytes, the windows at the start of the current and the previous round trip */
	real loss_rate;
	real recent_losses;
	struct density by_delay;
	struct density by_window;
	real weight;
	u64 acknowledged; /* bytes since the beginning */
	u64 sent;	  /* offset after the last byte in flight */
	u64 recover;	  /* the recovery ends when all bytes before this offset are acknowledged */
	u32 acks;
	u32 duplicates;
	u32 empties; /* of cut.h: share of losses at an empty queue, 65536ths */
	u32 round_samples;
	u32 unpaid; /* losses of slow start at larger windows since `reached` */
	struct mean mean;      /* of cut.h: gain 1/8 */
	struct mean long_mean; /* gain 1/32 */
	u64 lost_at;	       /* of evidence.h: bytes acknowledged at the last loss */
	u32 losses;
	u32 delivered; /* of response.h: segments that had arrived at the last acknowledgement */
	struct flat flat[2]; /* of the current and the previous round trip */
	u32 kept;
	u32 next;
	u32 skipped; /* samples since the last one that was kept */
	u8 has_recover;
	u8 spare[3];
	u32 recent[RECENT]; /* us, spread over the last few round trips; the first `kept` are valid */
	s16 evidence[EVIDENCE_ROOM]; /* about the latest loss; the signals begin at BEFORE_SIGNALS */
};

struct {
	UINT(type, MAP_TYPE_SK_STORAGE);
	UINT(map_flags, F_NO_PREALLOC);
	TYPE(key, int);
	TYPE(value, struct signals);
} wl_signals SEC(".maps");

INLINE void empty(struct span *span)
{
	span->min = S64_MAX;
	span->max = S64_MIN;
}

INLINE void forget(struct extrema *extrema)
{
	empty(&extrema->now);
	empty(&extrema->both);
}

INLINE void turn(struct extrema *extrema)
{
	extrema->both = extrema->now;
	empty(&extrema->now);
}

INLINE void add(struct extrema *extrema, s64 value)
{
	if (value < extrema->now.min) {
		extrema->now.min = value;
		if (value < extrema->both.min)
			extrema->both.min = value;
	}
	if (value > extrema->now.max) {
		extrema->now.max = value;
		if (value > extrema->both.max)
			extrema->both.max = value;
	}
}

/* Converts bytes to full segments. */
INLINE real segments(u64 bytes, u32 mss)
{
	return real_div(real_of(bytes), real_of(most(mss, 1)));
}

/* Returns the position of a delay between extrema, from 0 to 1. The library subtracts reals; below
 * 2^53, their difference is this integer.
 */
INLINE real position(s64 min, s64 max, s64 delay)
{
	return max > min ? real_div(real_of(delay - min), real_of(max - min)) : 0;
}

INLINE u32 class_of(s64 min, s64 max, s64 delay)
{
	s64 class = real_whole(real_mul(REAL(15.99), position(min, max, delay)));

	return class < 0 ? 0 : class > CLASSES - 1 ? CLASSES - 1 : class;
}

/* Returns the backlog B of a window, in segments. */
INLINE real backlog(const struct signals *s, real window)
{
	real empty = real_ratio(real_of(s->longer.both.min), real_of(s->rtt));

	return real_mul(window, real_sub(REAL(1.0), empty));
}

INLINE void count_loss(struct signals *s)
{
	s->loss_rate = real_add(s->loss_rate, real_mul(REAL(0.005), real_sub(REAL(1.0), s->loss_rate)));
	s->recent_losses = real_add(s->recent_losses, real_mul(REAL(0.05), real_sub(REAL(1.0), s->recent_losses)));
}

INLINE void begin_signals(struct signals *s)
{
	/* `kept` is the number of valid entries of `recent`, and each loss writes `evidence`, so these
	 * arrays need not be cleared.
	 */
	__builtin_memset(s, 0, __builtin_offsetof(struct signals, recent));
	forget(&s->shorter);
	forget(&s->longer);
	s->round_min = S64_MAX;
	forget(&s->windows);
	forget(&s->backlogs);
	forget(&s->t_min);
	s->weight = REAL(1.0);
	s->mean.rank = 3 * 65536 / 4;
	s->long_mean.rank = 3 * 65536 / 4;
}

/* Returns how many buckets of this length have passed: 0, 1, or 2 for more. After a long pause, the
 * old buckets stay until a sample replaces them.
 */
INLINE u32 passed(u64 since, u64 length, u64 now, bool sampled)
{
	return now - since < length ? 0 : now - since < 2 * length ? 1 : sampled ? 2 : 0;
}

/* Begins a new bucket, `buckets` after the current one. */
INLINE void turn_by(struct extrema *extrema, u32 buckets)
{
	turn(extrema);
	if (buckets > 1)
		turn(extrema);
}

/* Begins new buckets of extrema if the old ones have ended. */
INLINE void turn_buckets(struct signals *s, u64 now, bool sampled)
{
	u32 brief = passed(s->since[0], SHORT_US, now, sampled), lasting = passed(s->since[1], LONG_US, now, sampled);

	if (brief) {
		s->since[0] = now;
		turn_by(&s->shorter, brief);
		turn_by(&s->windows, brief);
		turn_by(&s->backlogs, brief);
		turn_by(&s->t_min, brief);
	}
	if (lasting) {
		s->since[1] = now;
		turn_by(&s->longer, lasting);
		s->standing[1] = s->standing[0];
		s->standing[0].rtt = 0;
		s->standing[0].window = 0;
		if (lasting > 1)
			s->standing[1] = s->standing[0];
	}
}

/* Returns the larger of the standing round trips, whose `rtt` is 0 if there is none. */
INLINE const struct standing *largest_of(const struct signals *s)
{
	return &s->standing[s->standing[0].rtt > s->standing[1].rtt ? 0 : 1];
}

/* Returns whether a round-trip time met an empty queue. */
INLINE bool is_empty_at(const struct signals *s, s64 rtt)
{
	s64 waits = rtt - s->longer.both.min;

	return waits * 8 <= largest_of(s)->rtt - s->longer.both.min && waits <= EMPTY_NS;
}

/* Returns whether a round-trip time exceeds the smallest by at most 1/32 of it. */
INLINE bool is_flat_at(const struct signals *s, s64 rtt)
{
	return (rtt - s->longer.both.min) * 32 <= s->longer.both.min;
}

/* Keeps one sample per 32 segments of the window, and every sample of windows below 64 segments. */
INLINE void keep(struct signals *s, u32 rtt_us, u32 cwnd)
{
	s->skipped++;
	if (cwnd >= 32 * (s->skipped + 1))
		return;
	s->skipped = 0;
	s->recent[s->next & (RECENT - 1)] = rtt_us;
	s->next = (s->next + 1) & (RECENT - 1);
	if (s->kept < RECENT)
		s->kept++;
}

/* Returns the share of recent samples below the last one, plus half of the equal ones, in 65536ths.
 * The verifier checks the loop of a separate function once, not for each state of the caller.
 */
__attribute__((noinline)) int rank_of(const struct signals *s)
{
	s64 rtt;
	u32 below = 0;

	if (!s || s->kept < SAMPLES)
		return 65536;
	rtt = s->rtt;
	for (u32 k = 0; k < RECENT; k++)
		if (k < s->kept) {
			s64 kept = s->recent[k] * NANOS;

			below += (kept < rtt) + (kept <= rtt);
		}
	return below * 32768 / s->kept;
}

/* Updates `reached` at the end of a round trip. */
INLINE void reach(struct tcp_sock *tp, struct signals *s)
{
	struct reached *r = &s->reached;
	u64 took = tp->tcp_mstamp - r->began;
	u64 rate = took ? (s->acknowledged - r->from) * 1000000 / took : 0;

	if (r->began && took && rate * 4 >= r->rate * 5) {
		r->rate = rate;
		r->window = (u64)tp->snd_cwnd * tp->mss_cache;
		s->unpaid = 0;
	}
	r->began = tp->tcp_mstamp;
	r->from = s->acknowledged;
}

/* Records the time per segment between two acknowledgements that move the edge. */
INLINE void pace(struct signals *s, real each)
{
	real off, apart;

	if ((s64)s->t_avg <= 0)
		s->t_avg = each;
	off = real_sub(each, s->t_avg);
	apart = real_smaller(real_ratio(off & ~REAL_SIGN, s->t_avg), REAL(4.0));
	s->irregular = real_add(s->irregular, real_mul(REAL(0.02), real_sub(apart, s->irregular)));
	s->t_avg = real_add(s->t_avg, real_mul(off, REAL(1.0 / 16.0)));
	if (!real_less(each, REAL(1.0)))
		add(&s->t_min, real_whole(each));
}

INLINE void weigh_anew(struct density *density, real weight)
{
	for (int k = 0; k < CLASSES; k++) {
		density->came[k] = real_single(real_div(density->came[k], weight));
		density->lost[k] = real_single(real_div(density->lost[k], weight));
	}
}

/* Adds to the density of a class. Densities have single precision in the library. */
INLINE void count_in(real *counts, u32 class, real weight)
{
	real *count = &counts[class & (CLASSES - 1)];

	*count = real_single(real_add(*count, weight));
}

/* Counts acknowledged segments at their delay and window. */
INLINE void count(struct signals *s, real acked, u32 cwnd)
{
	real growth = real_single(real_smaller(real_mul(REAL(0.00005), acked), REAL(0.01)));
	real weight;

	s->weight = real_single(real_mul(s->weight, real_single(real_add(REAL(1.0), growth))));
	weight = real_single(real_mul(s->weight, real_single(real_smaller(acked, REAL(1e3)))));
	count_in(s->by_delay.came, class_of(s->longer.both.min, s->longer.both.max, s->rtt), weight);
	count_in(s->by_window.came, class_of(0, s->windows.both.max, PARTS * (s64)cwnd), weight);
	if (real_less(REAL(1e6), s->weight)) {
		weigh_anew(&s->by_delay, s->weight);
		weigh_anew(&s->by_window, s->weight);
		s->weight = REAL(1.0);
	}
}

INLINE void sample(struct signals *s, s64 rtt, u32 cwnd)
{
	real delay = real_of(rtt);

	s->rtt_before = s->rtt ? s->rtt : rtt;
	s->rtt = rtt;
	if (s->trough) {
		real step = real_mul(real_sub(delay, s->trough), REAL(0.125));

		s->trough = real_smaller(delay, real_add(s->trough, step));
	} else {
		s->trough = delay;
	}
	add(&s->shorter, rtt);
	add(&s->longer, rtt);
	add(&s->backlogs, real_whole(real_mul(REAL(100.0), backlog(s, real_of(cwnd)))));
}

/* Reduces a rate by this share. The library rounds values below 1e-30 to zero. */
INLINE real decayed(real rate, real share)
{
	rate = real_mul(rate, real_sub(REAL(1.0), real_smaller(share, REAL(0.5))));
	return real_less(rate, REAL(1e-30)) ? 0 : rate;
}

/* Handles an acknowledgement of new bytes. */
INLINE void advance(struct tcp_sock *tp, struct signals *s, u32 bytes, s32 rtt_us, u32 in_flight, bool in_recovery)
{
	u64 now = tp->tcp_mstamp;
	u32 cwnd = tp->snd_cwnd;
	real acked = segments(bytes, tp->mss_cache);

	if (!s->acks) {
		s->since[0] = now;
		s->since[1] = now;
		s->advanced = now;
	}
	turn_buckets(s, now, rtt_us > 0);
	if (s->acks && !s->has_recover)
		pace(s, real_div(real_of((s64)(now - s->advanced) * NANOS),
				 real_less(acked, REAL(0.5)) ? REAL(0.5) : acked));
	s->advanced = now;
	s->loss_rate = decayed(s->loss_rate, real_mul(REAL(0.005), acked));
	s->recent_losses = decayed(s->recent_losses, real_mul(REAL(0.05), acked));
	add(&s->windows, PARTS * (s64)cwnd);
	s->met[0].all += bytes;
	if (rtt_us > 0) {
		sample(s, (s64)rtt_us * NANOS, cwnd);
		keep(s, rtt_us, cwnd);
		s->flat[0].flat += is_flat_at(s, s->rtt);
		s->flat[0].all++;
		/* A filled hole acknowledges many segments with one sample. */
		if (is_empty_at(s, s->rtt))
			s->met[0].empty += bytes < 2 * tp->mss_cache ? bytes : 2 * tp->mss_cache;
		if (!in_recovery) {
			/* A receiver may delay acknowledgements during a recovery. */
			if ((s64)rtt_us * NANOS < s->round_min)
				s->round_min = (s64)rtt_us * NANOS;
			s->round_samples++;
			count(s, acked, cwnd);
		}
	}
	if (s->acknowledged >= s->round_end) {
		s->round_end = s->acknowledged + in_flight;
		s->began[1] = s->began[0];
		s->began[0] = (u64)cwnd * tp->mss_cache;
		s->met[1] = s->met[0];
		s->met[0].empty = 0;
		s->met[0].all = 0;
		s->flat[1] = s->flat[0];
		s->flat[0].flat = 0;
		s->flat[0].all = 0;
		reach(tp, s);
		if (s->round_samples >= SAMPLES && s->round_min > s->standing[0].rtt) {
			s->standing[0].rtt = s->round_min;
			s->standing[0].window = s->began[0];
		}
		s->round_min = S64_MAX;
		s->round_samples = 0;
	}
	if (s->acks < WARM_UP)
		s->acks++;
}

/* Handles any acknowledgement, with the kernel's state before it. */
INLINE void hear(struct tcp_sock *tp, struct signals *s, u8 state, u32 bytes, s32 rtt_us)
{
	u32 in_flight = tp->snd_nxt - tp->snd_una;
	bool in_recovery = state >= RECOVERY;

	s->acknowledged += bytes;
	s->sent = s->acknowledged + in_flight;
	if (s->has_recover) {
		if (s->acknowledged >= s->recover)
			s->has_recover = false;
		else if (in_recovery && bytes)
			count_loss(s);
	}
	if (bytes) {
		s->duplicates = 0;
		advance(tp, s, bytes, rtt_us, in_flight, in_recovery);
	} else if (!in_recovery) {
		if (!s->duplicates)
			s->first_duplicate = tp->tcp_mstamp;
		s->duplicates++;
	}
}

/* Returns the losses per segment in a class, relative to all classes. */
INLINE real dense(const struct density *density, u32 class, real weight)
{
	real came = 0, lost = 0, overall, here;

	for (int k = 0; k < CLASSES; k++) {
		came = real_single(real_add(came, density->came[k]));
		lost = real_single(real_add(lost, density->lost[k]));
	}
	overall = real_single(real_div(
		real_single(real_add(lost, weight)),
		real_single(real_add(real_single(real_add(came, lost)), real_single(real_mul(REAL(20.0), weight))))));
	came = density->came[class & (CLASSES - 1)];
	lost = density->lost[class & (CLASSES - 1)];
	weight = real_single(real_mul(REAL(10.0), weight));
	here = real_single(real_div(
		real_single(real_add(lost, real_single(real_mul(weight, overall)))),
		real_single(real_add(real_single(real_add(came, lost)), weight))));
	return real_single(real_div(here, overall));
}

/* Converts to hundredths and saturates. */
INLINE s16 hundredths(real value)
{
	s64 whole = real_whole(real_mul(REAL(100.0), value));

	return whole > 32767 ? 32767 : whole < -32768 ? -32768 : whole;
}

/* Computes the signals of a loss detected now. Returns false before the warm-up is over. */
INLINE bool describe(struct tcp_sock *tp, struct signals *s, bool timeout)
{
	u32 cwnd = tp->snd_cwnd;
	s64 waited = (s64)(tp->tcp_mstamp - s->advanced) * NANOS;
	real window = real_of(cwnd), t_min = 0;
	s16 *seen = s->evidence + BEFORE_SIGNALS;
	/* Without duplicates, both are -1. */
	real gap = REAL(-1.0), apart = REAL(-1.0);
	real min = real_of(s->longer.both.min), max = real_of(s->longer.both.max);
	real range = s->shorter.both.max > s->shorter.both.min ? real_of(s->shorter.both.max - s->shorter.both.min) : 0;

	if (s->acks < WARM_UP || !s->rtt)
		return false;
	if (s->t_min.both.min < S64_MAX)
		t_min = real_of(s->t_min.both.min);
	if (s->duplicates) {
		gap = real_of((s64)(s->first_duplicate - s->advanced) * NANOS);
		apart = real_div(real_of((s64)(tp->tcp_mstamp - s->first_duplicate) * NANOS),
				 real_of(most(s->duplicates, 2) - 1));
	}
	seen[0] = hundredths(real_ratio(real_mul(REAL(100.0), backlog(s, window)), real_of(s->backlogs.both.max)));
	seen[1] = hundredths(real_ratio(real_sub(s->trough, real_of(s->shorter.both.min)), range));
	seen[2] = hundredths(position(s->longer.both.min, s->longer.both.max, s->rtt));
	seen[3] = hundredths(real_ratio(real_sub(max, min), min));
	seen[4] = hundredths(
		dense(&s->by_delay, class_of(s->longer.both.min, s->longer.both.max, s->rtt), s->weight));
	seen[5] = hundredths(dense(&s->by_window, class_of(0, s->windows.both.max, PARTS * (s64)cwnd), s->weight));
	seen[6] = hundredths(real_mul(REAL(100.0), s->loss_rate));
	seen[7] = hundredths(real_mul(REAL(10.0), s->recent_losses));
	seen[8] = hundredths(real_ratio(gap, s->t_avg));
	seen[9] = hundredths(real_ratio(apart, s->t_avg));
	seen[10] = hundredths(
		real_ratio(real_div(real_of(waited), real_add(real_of(s->duplicates), REAL(1.0))), t_min));
	seen[11] = hundredths(real_ratio(s->t_avg, t_min));
	seen[12] = hundredths(s->irregular);
	seen[13] = hundredths(real_sub(position(s->shorter.both.min, s->shorter.both.max, s->rtt),
					  position(s->shorter.both.min, s->shorter.both.max, s->rtt_before)));
	seen[14] = hundredths(real_ratio(window, segments(s->began[1], tp->mss_cache)));
	seen[15] = timeout;
	return true;
}

/* Records a loss, after `describe`. */
INLINE void remember_loss(struct tcp_sock *tp, struct signals *s, u64 in_flight)
{
	u64 end = s->acknowledged + in_flight;

	count_loss(s);
	count_in(s->by_delay.lost, class_of(s->longer.both.min, s->longer.both.max, s->rtt), s->weight);
	count_in(s->by_window.lost, class_of(0, s->windows.both.max, PARTS * (s64)tp->snd_cwnd), s->weight);
	s->recover = end > s->sent ? end : s->sent;
	s->has_recover = true;
	s->duplicates = 0;
}

#endif
