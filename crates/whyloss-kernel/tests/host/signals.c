// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Runs the programs' signals outside the kernel. Reads events from standard input. After each
 * event, prints the description of a loss and its cut.
 */
#include <stdio.h>
#include <string.h>

/* Replaces socket.h: the fields of the kernel that signals.h reads. */
#define WHYLOSS_SOCKET_H
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed short s16;
typedef signed int s32;
typedef signed long long s64;
#define bool _Bool
#define true 1
#define false 0
#define INLINE static inline
#define UINT(name, value) int(*name)[value]
#define TYPE(name, type) __typeof__(type) *name
#define SEC(name)
enum { MAP_TYPE_SK_STORAGE, F_NO_PREALLOC };
enum { RECOVERY = 3 };
struct tcp_sock {
	u64 tcp_mstamp;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_cwnd;
	u32 mss_cache;
};
static u32 most(u32 a, u32 b)
{
	return a > b ? a : b;
}

#define NO_ODDS (-0x7fffffff - 1)
#include "signals.h"

/* Replaces trees.h: the library's log-odds arrive with the events. */
#define WHYLOSS_TREES_H
enum { OF_SCHEME };
static s32 own_odds;
static const struct {
	s32 threshold;
} wl_forests[1];
static s32 log_odds(u32 forest, const struct signals *s)
{
	return own_odds;
}
#include "cut.h"

struct event {
	u64 now_us;
	u32 acked;
	s32 rtt_us;
	u32 in_flight;
	u32 cwnd;
	u32 mss;
	u32 lost; /* segments in flight at a loss found then; 0: no loss */
	u32 state;
	u32 timeout;
	s32 odds; /* the library's, of that loss */
	s32 own_odds; /* T minus the threshold, so that the stub's threshold is 0 */
	u32 starting;
	u32 spare;
};

int main(void)
{
	static struct signals s;
	struct tcp_sock tp = {};
	struct event event;
	u32 cut;

	begin_signals(&s);
	while (fread(&event, sizeof(event), 1, stdin) == 1) {
		tp.tcp_mstamp = event.now_us;
		tp.snd_una += event.acked;
		tp.snd_nxt = tp.snd_una + event.in_flight;
		tp.snd_cwnd = event.cwnd;
		tp.mss_cache = event.mss;
		hear(&tp, &s, event.state, event.acked, event.rtt_us);
		if (!describe(&tp, &s, event.timeout))
			memset(s.evidence, 0, sizeof(s.evidence));
		cut = FULL;
		if (event.lost) {
			own_odds = event.own_odds;
			cut = cut_of(&s, (u64)event.cwnd * event.mss, event.mss, event.odds, event.starting);
			remember_loss(&tp, &s, (u64)event.lost * event.mss);
		}
		if (!event.lost)
			memset(s.evidence, 0, BEFORE_SIGNALS * sizeof(s16));
		fwrite(s.evidence, EVIDENCE * sizeof(s16), 1, stdout);
		fwrite(&cut, sizeof(cut), 1, stdout);
	}
	return 0;
}
