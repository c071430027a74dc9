/* A sender. Packets leave while the window allows, and one in a hundred is lost. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <whyloss.h>

#define FLIGHT 8

static void check(whyloss_status status)
{
    if (status != WHYLOSS_STATUS_OK) {
        fprintf(stderr, "%s\n", whyloss_status_text(status));
        exit(1);
    }
}

int main(int count, char **words)
{
    const char *name = count > 1 ? words[1] : "whyloss";
    whyloss_scheme *scheme = (whyloss_scheme *)malloc(whyloss_scheme_size());
    whyloss_scheme_options options = {WHYLOSS_ABI, 1200, name, NULL, 0};
    whyloss_allowance allowed;
    whyloss_verdict verdict = {WHYLOSS_CAUSE_UNKNOWN, WHYLOSS_FOUND_NONE, 0, 0};
    uint64_t numbers[FLIGHT], number = 0, now = 1000000000;
    char text[200];
    int round, packet, losses = 0;

    if (whyloss_scheme_init(scheme, whyloss_scheme_size(), &options, text, sizeof text)
        != WHYLOSS_STATUS_OK) {
        fprintf(stderr, "%s\n", text);
        free(scheme);
        return 2;
    }
    for (round = 0; round < 1000; round++) {
        size_t acked = 0;
        uint64_t lost = 0;
        int any = 0;
        for (packet = 0; packet < FLIGHT; packet++, number++) {
            check(whyloss_scheme_on_sent(scheme, number, 1200, now, 0));
            if (number % 100 == 99) {
                lost = number;
                any = 1;
            } else {
                numbers[acked++] = number;
            }
        }
        now += 50000000;
        check(whyloss_scheme_on_acked(scheme, numbers, acked, now));
        if (any) {
            check(whyloss_scheme_on_lost(scheme, &lost, 1, now, &verdict));
            losses += verdict.found != WHYLOSS_FOUND_NONE;
        }
    }
    check(whyloss_scheme_allowance(scheme, &allowed));
    printf("%s: window %" PRIu64 " bytes, %" PRIu64 " in flight, %d losses, the last %s\n",
           name, allowed.window, allowed.in_flight, losses,
           verdict.cause == WHYLOSS_CAUSE_WIRELESS ? "wireless" : "congestion");
    check(whyloss_scheme_drop(scheme));
    free(scheme);
    return 0;
}
