/* SPDX-License-Identifier: MIT
** Which depth reads share a pass over their sources: what --two-phase chooses. */
#ifndef STRATA_TWO_PHASE_HOW_H
#define STRATA_TWO_PHASE_HOW_H

typedef enum TwoPhase {
    TWO_PHASE_AUTO, /* those that move less for it */
    TWO_PHASE_ON,   /* all that can */
    TWO_PHASE_OFF
} TwoPhase;

TwoPhase two_phase_named(const char *name); /* "on", "off"; else auto */

#endif
