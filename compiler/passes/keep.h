/* SPDX-License-Identifier: MIT
** What a training step keeps of the forward part for the backward part: --memory. */
#ifndef STRATA_KEEP_H
#define STRATA_KEEP_H

typedef enum Keep {
    KEEP_AUTO,  /* what kernels pass on anyway, and what is far sooner loaded than computed again */
    KEEP_SMALL, /* as little as can be: products are computed again too */
    KEEP_FAST   /* also what is sooner loaded than computed again */
} Keep;

#endif
