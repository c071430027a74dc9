/* Runs the schemes of whyloss as congestion control of quicly. */
#ifndef WHYLOSS_QUICLY_H
#define WHYLOSS_QUICLY_H

#include <quicly.h>
#include <quicly/cc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Creates the controllers of connections. Set `quicly_context_t::init_cc` to the address of `super`.
 * If a scheme cannot start, a message goes to stderr and the connection uses Reno. */
typedef struct {
    quicly_init_cc_t super;
    const char *name;       /* a scheme, or "controller/policy/classifier" */
    const char *parameters; /* such as "percent=80"; may be NULL */
} quicly_whyloss_init_t;

/* Creates controllers of the scheme "whyloss". For another scheme, copy this value and change `name`. */
extern quicly_whyloss_init_t quicly_cc_whyloss_init;

extern quicly_cc_type_t quicly_cc_type_whyloss;

/* Frees the memory of a controller. quicly does not report the end of a connection to its controller,
 * so call this function before `quicly_free`, with the `cc` that `quicly_get_stats` returns. Does
 * nothing to controllers of other types. */
void quicly_cc_whyloss_dispose(quicly_cc_t *cc);

#ifdef __cplusplus
}
#endif

#endif
