/*
 * Times a transfer over a satellite in picoquic's own simulator, under picoquic's congestion
 * controls and under schemes of whyloss:
 *
 *   satellite SOURCES BYTES MBPS_UP MBPS_DOWN LOSS NAME…
 *
 * Each way takes 300 ms. LOSS is a pattern of 64 bits in hexadecimal: picoquic drops a packet for
 * each bit that is set, in both directions, and repeats it (10000000: one in 64). NAME is one of
 * picoquic's algorithms ("cubic"), or a scheme behind "whyloss/" ("whyloss/whyloss").
 */
#include <inttypes.h>
#include <picoquic_internal.h>
#include <picoquic_utils.h>
#include <picoquictest_internal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "whyloss_picoquic.h"

#define LATENCY 300000
#define MOST_TIME 1000000000

static int transfer(const char *name, char **words)
{
    const char *scheme = strncmp(name, "whyloss/", 8) == 0 ? name + 8 : NULL;
    picoquic_congestion_algorithm_t const *algorithm =
        scheme == NULL ? picoquic_get_congestion_algorithm(name) : picoquic_whyloss_algorithm;
    picoquic_connection_id_t id = {{0x77, 0x68, 0x79, 0, 0, 0, 0, 0}, 8};
    picoquic_test_tls_api_ctx_t *test = NULL;
    picoquic_tp_t client, server;
    uint64_t now = 0, end, mask = strtoull(words[4], NULL, 16);
    int failed;

    if (algorithm == NULL) {
        fprintf(stderr, "picoquic has no congestion control called `%s`\n", name);
        return 2;
    }
    picoquic_init_transport_parameters(&client);
    client.enable_time_stamp = 3;
    server = client;
    if (tls_api_one_scenario_init_ex(&test, &now, PICOQUIC_INTERNAL_TEST_VERSION_1, &client,
            &server, &id) != 0 || test == NULL) {
        fprintf(stderr, "picoquic's test does not start; is `%s` its source?\n", words[0]);
        return 1;
    }
    picoquic_set_default_congestion_algorithm(test->qserver, algorithm);
    picoquic_set_congestion_algorithm_ex(test->cnx_client, algorithm, scheme);
    test->c_to_s_link->microsec_latency = test->s_to_c_link->microsec_latency = LATENCY;
    test->c_to_s_link->picosec_per_byte = 8000000 / strtoull(words[2], NULL, 10);
    test->s_to_c_link->picosec_per_byte = 8000000 / strtoull(words[3], NULL, 10);
    test->stream0_flow_release = test->immediate_exit = 1;
    picoquic_cnx_set_pmtud_required(test->cnx_client, 1);
    failed = tls_api_one_scenario_body(test, &now, NULL, 0, strtoull(words[1], NULL, 10), mask, 0,
        2 * LATENCY, MOST_TIME);
    end = now - test->cnx_client->start_time;
    printf("%s: %" PRIu64 ".%03" PRIu64 " s, %" PRIu64 " packets sent again%s\n", name,
        end / 1000000, end / 1000 % 1000, test->cnx_client->nb_retransmission_total,
        failed ? ", NOT COMPLETE" : "");
    tls_api_delete_ctx(test);
    return failed != 0;
}

int main(int count, char **words)
{
    int index, failed = 0;

    if (count < 7 || atoi(words[3]) < 1 || atoi(words[4]) < 1) {
        fprintf(stderr, "usage: %s SOURCES BYTES MBPS_UP MBPS_DOWN LOSS NAME…\n", words[0]);
        return 2;
    }
    picoquic_set_solution_dir(words[1]);
    picoquic_register_all_congestion_control_algorithms();
    for (index = 6; index < count && failed == 0; index++) {
        failed = transfer(words[index], words + 1);
    }
    return failed;
}
