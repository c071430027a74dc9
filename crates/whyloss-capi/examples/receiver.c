/* A receiver of RTP. Every fiftieth packet is missing, although no packet before it waited. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <whyloss.h>

int main(void)
{
    whyloss_receiver *receiver = (whyloss_receiver *)malloc(whyloss_receiver_size());
    whyloss_receiver_options options = {WHYLOSS_ABI, 16, "trees", NULL, 3, 0};
    whyloss_loss losses[WHYLOSS_MOST_LOSSES];
    size_t count, index;
    uint64_t number, congestion = 0, wireless = 0;
    char text[200];

    if (whyloss_receiver_init(receiver, whyloss_receiver_size(), &options, text, sizeof text)
        != WHYLOSS_STATUS_OK) {
        fprintf(stderr, "%s\n", text);
        free(receiver);
        return 2;
    }
    for (number = 0; number < 100000; number++) {
        whyloss_arrival packet = {0, 0, 0, 200};
        packet.number = number % 65536;
        packet.sent_ns = 1000000000 + number * 20000000;
        packet.received_ns = packet.sent_ns + 40000000;
        if (number % 50 == 49) {
            continue;
        }
        if (whyloss_receiver_on_packet(receiver, &packet, losses, WHYLOSS_MOST_LOSSES, &count, NULL)
            != WHYLOSS_STATUS_OK) {
            return 1;
        }
        for (index = 0; index < count; index++) {
            if (losses[index].cause == WHYLOSS_CAUSE_WIRELESS) {
                wireless += losses[index].count;
            } else {
                congestion += losses[index].count;
            }
        }
    }
    printf("%" PRIu64 " lost by congestion, %" PRIu64 " by the radio\n", congestion, wireless);
    whyloss_receiver_drop(receiver);
    free(receiver);
    return 0;
}
