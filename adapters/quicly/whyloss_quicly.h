/* Runs the schemes of whyloss as congestion control of quicly. */
#ifndef WHYLOSS_QUICLY_H
#define WHYLOSS_QUICLY_H

#include <quicly.h>
#include <quicly/cc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the controller of a connection: let `quicly_context_t::init_cc` point to `super`. A
 * connection whose scheme does not start says so on stderr, and runs under Reno. */
typedef struct {
    quicly_init_cc_t super;
    const char *name;       /* a scheme, or "controller/policy/classifier" */
    const char *parameters; /* such as "percent=80"; may be NULL */
} quicly_whyloss_init_t;

/* Starts the scheme "whyloss". Copy it and change the name for another one. */
extern quicly_whyloss_init_t quicly_cc_whyloss_init;

extern quicly_cc_type_t quicly_cc_type_whyloss;

/* Frees what a controller allocated. quicly tells controllers nothing of their end: before
 * `quicly_free`, pass the `cc` that `quicly_get_stats` returns. Does nothing to other types. */
void quicly_cc_whyloss_dispose(quicly_cc_t *cc);

#ifdef __cplusplus
}
#endif

#endif
