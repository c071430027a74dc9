/* A sender of video. Its target rises to the rate of a 2 Mbit/s link, although a radio loses 5
 * %.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <whyloss.h>

#define MOST 1000
#define LINK 2e6

static void check(whyloss_status status)
{
    if (status != WHYLOSS_STATUS_OK) {
        fprintf(stderr, "%s\n", whyloss_status_text(status));
        exit(1);
    }
}

int main(void)
{
    whyloss_media *media = (whyloss_media *)malloc(whyloss_media_size());
    whyloss_media_options options = {WHYLOSS_ABI, 300e3, 50e3, 20e6};
    whyloss_media_report reports[MOST];
    whyloss_media_state state;
    uint64_t now = 1000000000, link_free = 0, number = 0, due;
    double owed = 0;
    char text[200];
    int round;

    if (whyloss_media_init(media, whyloss_media_size(), &options, text, sizeof text)
        != WHYLOSS_STATUS_OK) {
        fprintf(stderr, "%s\n", text);
        free(media);
        return 2;
    }
    check(whyloss_media_target(media, &state));
    for (round = 0; round < 600; round++) { /* a report every 50 ms */
        size_t count = 0;
        uint64_t end = now + 50000000, step;
        owed += state.target_bps / 20;
        step = 50000000 / ((uint64_t)(owed / 9600) + 1);
        for (; owed >= 9600 && count < MOST; owed -= 9600, number++, now += step) {
            whyloss_media_report report = {0, 0, 0, 1200, WHYLOSS_FATE_ARRIVED, 0, 0};
            link_free = (link_free > now ? link_free : now) + (uint64_t)(9600e9 / LINK);
            report.id = number;
            report.departed_ns = now;
            report.received_ns = link_free + 30000000;
            report.fate = number % 20 == 7 ? WHYLOSS_FATE_LOST : WHYLOSS_FATE_ARRIVED;
            reports[count++] = report;
        }
        now = end;
        check(whyloss_media_on_reports(media, now + 80000000, reports, count));
        check(whyloss_media_next_timeout(media, &due));
        if (due <= now + 80000000) {
            check(whyloss_media_on_timeout(media, now + 80000000));
        }
        check(whyloss_media_target(media, &state));
    }
    printf("target %.0f kbit/s, queue %.0f ms, %.0f %% lost, %.0f %% refused\n",
           state.target_bps / 1e3, state.queue_s * 1e3, state.lost * 100, state.refused * 100);
    check(whyloss_media_drop(media));
    free(media);
    return 0;
}
