/*
 * Runs the schemes of whyloss as congestion control of picoquic. picoquic does not report sent
 * packets to a controller, nor which packets an acknowledgement names. This file derives both from
 * the list of packets in flight.
 */
#include "whyloss_picoquic.h"

#include <picoquic_internal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <whyloss.h>

#define MOST_PACKETS 65536 /* in flight on a path; with more, the oldest are forgotten */
#define MOST_MISSING 256   /* missing packet numbers per call */

typedef picoquic_packet_context_t numbering;
static const int ours = picoquic_packet_context_application;

typedef struct {
    whyloss_scheme *scheme; /* behind this */
    uint64_t next;     /* the lowest number that whyloss does not know */
    uint64_t now_ns;   /* the latest time told */
    uint64_t mtu;
    uint64_t timeouts; /* in a row */
    int marked;        /* the acknowledgement told next reports marks */
    uint64_t lost;     /* packets of the last loss event that have not arrived after all */
} whyloss_state;

static uint64_t later(whyloss_state *state, uint64_t microseconds)
{
    state->now_ns = microseconds * 1000 > state->now_ns ? microseconds * 1000 : state->now_ns;
    return state->now_ns;
}

static void leave(whyloss_state *state, uint64_t number, uint64_t bytes, uint64_t at, int limited)
{
    (void)whyloss_scheme_on_sent(state->scheme, number, (uint32_t)bytes, later(state, at), limited);
    state->next = number + 1;
}

/* Reports the packets that left since the last notification, oldest first. */
static void tell_sent(whyloss_state *state, numbering *packets, picoquic_path_t *path_x,
    uint64_t now)
{
    uint64_t limited = path_x->last_sender_limited_time;
    picoquic_packet_t *packet = packets->pending_last;
    while (packet != NULL && packet->packet_previous != NULL
        && packet->packet_previous->sequence_number >= state->next) {
        packet = packet->packet_previous;
    }
    if (packets->highest_acknowledged != UINT64_MAX && packets->highest_acknowledged >= state->next
        && (packet == NULL || packet->sequence_number > packets->highest_acknowledged)) {
        /* It came and went between two notifications, at an end with little to send. */
        leave(state, packets->highest_acknowledged, state->mtu, now - path_x->rtt_sample, 1);
    }
    for (; packet != NULL; packet = packet->packet_next) {
        if (packet->sequence_number >= state->next && packet->send_path == path_x
            && !packet->is_ack_trap) {
            int last = packet->packet_next == NULL || packet->packet_next->send_time > limited;
            leave(state, packet->sequence_number, packet->length + packet->checksum_overhead,
                packet->send_time, last && limited >= packet->send_time);
        }
    }
}

/*
 * Reports the packets that were acknowledged: all but those that are still in flight. Unlike RFC
 * 9002, picoquic does not subtract the ack delay from a round trip if the rest is the smallest one.
 */
static void tell_acked(whyloss_state *state, numbering *packets, const picoquic_path_t *path_x,
    uint64_t ack_delay, uint64_t now_ns)
{
    int delayed = path_x->rtt_sample == path_x->rtt_min + ack_delay;
    uint64_t rtt_ns = 1000 * (delayed ? path_x->rtt_min : path_x->rtt_sample);
    uint64_t missing[MOST_MISSING], through = packets->highest_acknowledged;
    picoquic_packet_t *packet = packets->pending_first;
    size_t count = 0;
    for (; packet != NULL && packet->sequence_number <= through; packet = packet->packet_next) {
        missing[count++] = packet->sequence_number;
        if (count == MOST_MISSING) {
            (void)whyloss_scheme_on_acked_through(state->scheme, missing[count - 1], missing, count,
                now_ns);
            count = 0;
        }
    }
    (void)whyloss_scheme_on_rtt(state->scheme, rtt_ns);
    (void)whyloss_scheme_on_acked_through(state->scheme, through, missing, count, now_ns);
    if (state->marked) {
        (void)whyloss_scheme_on_ecn(state->scheme, now_ns);
        state->marked = 0;
    }
}

static void tell_lost(whyloss_state *state, picoquic_path_t *path_x, uint64_t lost, uint64_t now_ns)
{
    whyloss_verdict verdict = {WHYLOSS_CAUSE_UNKNOWN, WHYLOSS_FOUND_NONE, 0, 0};
    (void)whyloss_scheme_on_lost(state->scheme, &lost, 1, now_ns, &verdict);
    state->lost = verdict.found == WHYLOSS_FOUND_NONE ? state->lost + 1 : 1;
    /* The third timeout in a row is persistent congestion (RFC 9002, section 7.6). */
    if (path_x->nb_retransmit >= 3 && path_x->nb_retransmit > state->timeouts) {
        (void)whyloss_scheme_on_persistent_congestion(state->scheme, now_ns, NULL);
    }
    state->timeouts = path_x->nb_retransmit;
}

static void obey(whyloss_state *state, picoquic_path_t *path_x)
{
    whyloss_allowance allowed = {0, 0, WHYLOSS_UNPACED, 0};
    (void)whyloss_scheme_allowance(state->scheme, &allowed);
    path_x->cwin = allowed.window;
    if (allowed.pacing_bps == WHYLOSS_UNPACED) {
        picoquic_update_pacing_data(path_x, 0);
    } else {
        picoquic_update_pacing_rate(path_x, (double)allowed.pacing_bps / 8, allowed.quantum);
    }
}

static void whyloss_init(picoquic_path_t *path_x, char const *option, uint64_t now)
{
    whyloss_state *state = (whyloss_state *)calloc(1, sizeof *state + whyloss_scheme_size());
    whyloss_scheme *scheme = (whyloss_scheme *)(state + 1);
    char name[128], text[200] = "there is no memory", *colon;
    whyloss_scheme_options options = {WHYLOSS_ABI, (uint32_t)path_x->send_mtu, name, NULL,
        MOST_PACKETS};
    (void)snprintf(name, sizeof name, "%s",
        option != NULL && option[0] != 0 ? option : "whyloss");
    if ((colon = strchr(name, ':')) != NULL) {
        *colon++ = 0;
        options.parameters = colon;
    }
    path_x->congestion_alg_state = NULL;
    if (state == NULL || whyloss_scheme_init(scheme, whyloss_scheme_size(), &options, text,
            sizeof text) != WHYLOSS_STATUS_OK) {
        fprintf(stderr, "whyloss: %s\n", text);
        free(state);
        return;
    }
    path_x->congestion_alg_state = state;
    state->scheme = scheme;
    state->mtu = path_x->send_mtu;
    state->now_ns = now * 1000;
    obey(state, path_x);
}

static void whyloss_notify(picoquic_cnx_t *cnx, picoquic_path_t *path_x,
    picoquic_congestion_notification_t notification, picoquic_per_ack_state_t *ack, uint64_t now)
{
    whyloss_state *state = (whyloss_state *)path_x->congestion_alg_state;
    numbering *packets = cnx->is_multipath_enabled ? &path_x->pkt_ctx : &cnx->pkt_ctx[ours];
    int lost = notification == picoquic_congestion_notification_repeat
        || notification == picoquic_congestion_notification_timeout;
    if (state == NULL || (lost && ack->pc != ours)) {
        return; /* Handshake packets have numbers of their own, and are few. */
    }
    path_x->is_cc_data_updated = 1;
    if (state->mtu != path_x->send_mtu) {
        state->mtu = path_x->send_mtu;
        (void)whyloss_scheme_on_mtu(state->scheme, (uint32_t)path_x->send_mtu);
    }
    tell_sent(state, packets, path_x, now);
    now = later(state, now);
    if (lost) {
        tell_lost(state, path_x, ack->lost_packet_number, now);
    } else if (notification == picoquic_congestion_notification_ecn_ec) {
        state->marked = 1; /* Its acknowledgement follows, once the round trip is known. */
    } else if (notification == picoquic_congestion_notification_spurious_repeat) {
        if (state->lost > 0 && --state->lost == 0) {
            (void)whyloss_scheme_on_spurious(state->scheme, now);
        }
    } else if (packets->highest_acknowledged != UINT64_MAX) {
        tell_acked(state, packets, path_x, cnx->ack_delay_remote, now);
    }
    obey(state, path_x);
}

static void whyloss_delete(picoquic_path_t *path_x)
{
    whyloss_state *state = (whyloss_state *)path_x->congestion_alg_state;
    path_x->congestion_alg_state = NULL;
    if (state != NULL) {
        (void)whyloss_scheme_drop(state->scheme);
        free(state);
    }
}

/* Returns the last verdict for logs: its cause, and its odds times 1000. */
static void whyloss_observe(picoquic_path_t *path_x, uint64_t *cause, uint64_t *odds)
{
    whyloss_state *state = (whyloss_state *)path_x->congestion_alg_state;
    whyloss_verdict verdict = {WHYLOSS_CAUSE_UNKNOWN, WHYLOSS_FOUND_NONE, 0, 0};
    (void)whyloss_scheme_verdict(state == NULL ? NULL : state->scheme, &verdict);
    *cause = (uint64_t)verdict.cause;
    *odds = verdict.odds > 0 && verdict.odds < 1e9 ? (uint64_t)(verdict.odds * 1000) : 0;
}

static picoquic_congestion_algorithm_t const algorithm = {"whyloss", 0x77, PICOQUIC_ECN_ECT_0,
    whyloss_init, whyloss_notify, whyloss_delete, whyloss_observe};
picoquic_congestion_algorithm_t const *picoquic_whyloss_algorithm = &algorithm;
