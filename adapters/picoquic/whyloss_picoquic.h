/* Runs the schemes of whyloss as congestion control of picoquic. */
#ifndef WHYLOSS_PICOQUIC_H
#define WHYLOSS_PICOQUIC_H

#include <picoquic.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The algorithm "whyloss". Register or set it like those of picoquic. The option string names a
 * scheme (NULL: "whyloss"), or a controller, a policy and a classifier. Parameters follow a colon:
 * "cubic/percent/trees:percent=80". */
extern picoquic_congestion_algorithm_t const *picoquic_whyloss_algorithm;

#ifdef __cplusplus
}
#endif

#endif
