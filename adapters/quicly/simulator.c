/*
 * Adds "whyloss" to the congestion controls of quicly's own simulator, in place of "pico":
 * `simulator -c whyloss …`. The variable WHYLOSS_SCHEME names another scheme.
 */
#include <stdlib.h>

#include "whyloss_quicly.h"

__attribute__((constructor)) static void add(void)
{
    const char *name = getenv("WHYLOSS_SCHEME");

    if (name != NULL) {
        quicly_cc_whyloss_init.name = name;
    }
    quicly_cc_all_types[2] = &quicly_cc_type_whyloss;
}
