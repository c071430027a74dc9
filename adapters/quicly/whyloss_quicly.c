/*
 * Runs the schemes of whyloss as congestion control of quicly. quicly does not report to a
 * controller the numbers of sent packets, nor those that an acknowledgement names. This file derives
 * both from the map of sent packets.
 */
#include "whyloss_quicly.h"

#include <stdio.h>
#include <stdlib.h>
#include <whyloss.h>

#define MOST_PACKETS 65536 /* in flight; with more, the oldest are forgotten */
#define MOST_MISSING 256   /* missing packet numbers per call */

typedef struct {
    whyloss_scheme *scheme;
    const quicly_whyloss_init_t *made_by;
    uint32_t mtu;
} whyloss_state;

static whyloss_state *state_of(const quicly_cc_t *cc)
{
    whyloss_state *state;

    memcpy(&state, &cc->state, sizeof state);
    return state;
}

static uint64_t nanoseconds(int64_t milliseconds)
{
    return (uint64_t)milliseconds * 1000000;
}

static void obey(quicly_cc_t *cc)
{
    whyloss_allowance allowed = {0, 0, 0, 0};

    if (whyloss_scheme_allowance(state_of(cc)->scheme, &allowed) == WHYLOSS_STATUS_OK) {
        cc->cwnd = allowed.window < UINT32_MAX ? (uint32_t)allowed.window : UINT32_MAX;
        cc->cwnd_maximum = cc->cwnd > cc->cwnd_maximum ? cc->cwnd : cc->cwnd_maximum;
    }
}

/* Returns the last sent packet. Its entry is in the last block, unless its frames fill that block. */
static const quicly_sent_packet_t *newest(const quicly_sentmap_t *map)
{
    const quicly_sent_packet_t *found = NULL, *packet;
    quicly_sentmap_iter_t all;
    size_t index;

    for (index = map->tail == NULL ? 0 : map->tail->next_insert_at; index > 0; index--) {
        if (map->tail->entries[index - 1].acked == quicly_sentmap__type_packet) {
            return &map->tail->entries[index - 1].data.packet;
        }
    }
    quicly_sentmap_init_iter((quicly_sentmap_t *)map, &all);
    while ((packet = quicly_sentmap_get(&all))->packet_number != UINT64_MAX) {
        found = packet;
        quicly_sentmap_skip(&all);
    }
    return found;
}

static void on_sent(quicly_cc_t *cc, const quicly_loss_t *loss, uint32_t bytes, int64_t now)
{
    const quicly_sent_packet_t *packet = newest(&loss->sentmap);

    if (packet != NULL) {
        /* quicly itself takes a window that is half full for one that limits. */
        (void)whyloss_scheme_on_sent(state_of(cc)->scheme, packet->packet_number, bytes,
            nanoseconds(now), loss->sentmap.bytes_in_flight < cc->cwnd / 2);
    }
}

static void on_acked(quicly_cc_t *cc, const quicly_loss_t *loss, uint32_t bytes, uint64_t largest,
    uint32_t in_flight, int limited, uint64_t next, int64_t now, uint32_t mtu)
{
    whyloss_state *state = state_of(cc);
    uint64_t missing[MOST_MISSING];
    const quicly_sent_packet_t *packet;
    quicly_sentmap_iter_t all;
    size_t count = 0;

    (void)bytes, (void)in_flight, (void)limited, (void)next;
    if (state->mtu != mtu) {
        state->mtu = mtu;
        (void)whyloss_scheme_on_mtu(state->scheme, mtu);
    }
    quicly_sentmap_init_iter((quicly_sentmap_t *)&loss->sentmap, &all);
    for (; (packet = quicly_sentmap_get(&all))->packet_number <= largest
         && packet->packet_number != UINT64_MAX; quicly_sentmap_skip(&all)) {
        if (packet->cc_bytes_in_flight == 0) {
            continue; /* It was lost before, or counts towards nothing. */
        }
        missing[count++] = packet->packet_number;
        if (count == MOST_MISSING) {
            (void)whyloss_scheme_on_acked_through(state->scheme, missing[count - 1], missing, count,
                nanoseconds(now));
            count = 0;
        }
    }
    /* quicly has taken the delay of the acknowledgement from it. */
    (void)whyloss_scheme_on_rtt(state->scheme, nanoseconds(loss->rtt.latest));
    (void)whyloss_scheme_on_acked_through(state->scheme, largest, missing, count, nanoseconds(now));
    obey(cc);
}

static void on_lost(quicly_cc_t *cc, const quicly_loss_t *loss, uint32_t bytes, uint64_t lost,
    uint64_t next, int64_t now, uint32_t mtu)
{
    whyloss_verdict verdict = {WHYLOSS_CAUSE_UNKNOWN, WHYLOSS_FOUND_NONE, 0, 0};

    (void)loss, (void)mtu;
    if (bytes == 0) {
        (void)whyloss_scheme_on_ecn(state_of(cc)->scheme, nanoseconds(now));
    } else {
        (void)whyloss_scheme_on_lost(state_of(cc)->scheme, &lost, 1, nanoseconds(now), &verdict);
    }
    quicly_cc__update_ecn_episodes(cc, bytes, lost);
    if (lost >= cc->recovery_end) {
        cc->recovery_end = next;
        cc->num_loss_episodes++;
    }
    obey(cc);
    cc->cwnd_minimum = cc->cwnd < cc->cwnd_minimum ? cc->cwnd : cc->cwnd_minimum;
}

static void on_persistent_congestion(quicly_cc_t *cc, const quicly_loss_t *loss, int64_t now)
{
    (void)loss;
    (void)whyloss_scheme_on_persistent_congestion(state_of(cc)->scheme, nanoseconds(now), NULL);
    obey(cc);
}

/* Returns whether the connection uses this controller, which cannot take over a running connection. */
static int on_switch(quicly_cc_t *cc)
{
    return cc->type == &quicly_cc_type_whyloss;
}

static void start(quicly_init_cc_t *self, quicly_cc_t *cc, uint32_t window, int64_t now)
{
    const quicly_whyloss_init_t *options = (const quicly_whyloss_init_t *)self;
    whyloss_scheme_options made = {WHYLOSS_ABI, 1280, NULL, NULL, MOST_PACKETS};
    whyloss_state *state = (whyloss_state *)calloc(1, sizeof *state);
    whyloss_scheme *scheme = (whyloss_scheme *)calloc(1, whyloss_scheme_size());
    char text[200] = "there is no memory";

    if (cc->type == &quicly_cc_type_whyloss) { /* a path has changed */
        options = state_of(cc)->made_by;
        quicly_cc_whyloss_dispose(cc);
    }
    quicly_cc_reno_init.cb(&quicly_cc_reno_init, cc, window, now);
    made.name = options->name;
    made.parameters = options->parameters;
    if (state == NULL || whyloss_scheme_init(scheme, whyloss_scheme_size(), &made, text,
            sizeof text) != WHYLOSS_STATUS_OK) {
        fprintf(stderr, "whyloss: %s\n", text);
        free(scheme);
        free(state);
        return;
    }
    state->scheme = scheme;
    state->made_by = options;
    state->mtu = made.mtu;
    cc->type = &quicly_cc_type_whyloss;
    memcpy(&cc->state, &state, sizeof state);
    obey(cc);
}

void quicly_cc_whyloss_dispose(quicly_cc_t *cc)
{
    if (cc->type == &quicly_cc_type_whyloss) {
        (void)whyloss_scheme_drop(state_of(cc)->scheme);
        free(state_of(cc)->scheme);
        free(state_of(cc));
        cc->type = &quicly_cc_type_reno;
    }
}

quicly_whyloss_init_t quicly_cc_whyloss_init = {{start}, "whyloss", NULL};
quicly_cc_type_t quicly_cc_type_whyloss = {"whyloss", &quicly_cc_whyloss_init.super, on_acked,
    on_lost, on_persistent_congestion, on_sent, on_switch, NULL, NULL};
