/* SPDX-License-Identifier: MIT
** The Lua functions of the structural rows of the op table. */
#ifndef STRATA_SPEC_BINDINGS_H
#define STRATA_SPEC_BINDINGS_H

#include "front.h"

typedef struct Structural {
    Op op;
    const char *name;
    lua_CFunction call;
    const char *usage; /* for specs/library/ops.md */
    int arity;         /* of call_plain */
} Structural;

extern const Structural ops_structural[];
extern const int ops_count;

/* call_recurrence.c */
int call_recurrence(lua_State *L);

/* call_attention.c */
int call_attention(lua_State *L);
int call_attention_lse(lua_State *L);

/* bindings_choice.c */
int choice_call(lua_State *L);        /* largest, chosen: f(x, k) */
int choice_call_expert(lua_State *L); /* expert_linear(x, w, places) */
int choice_call_top(lua_State *L);    /* top(x, share) */

/* token_lists.c */
Node *lists_worked_on(lua_State *L, Node *all); /* its rows of the tokens that are worked on */
/* The same, or of those that the option 'of' at an argument has rows for. */
Node *lists_like(lua_State *L, int arg, const char *what, Node *all);
int lists_call_rows(lua_State *L);    /* rows(mask): a list; masks that are equal make one */
int lists_call_of(lua_State *L);      /* (x): the list that x has rows of */
int lists_call_mask(lua_State *L);    /* (list): its mask */
int lists_call_work_on(lua_State *L); /* (list): on its tokens from now on */
int lists_call_attempt(lua_State *L); /* (end, f, ...): f(...), which may end early */

/* names.c: (s, most); and the name of a parameter at an argument, refused if it cannot be one */
int names_call_identifier(lua_State *L);
const char *names_checked(lua_State *L, int arg);

/* rules.c: what a step makes of buffers */
int rules_call_statistic(lua_State *L); /* (buffer): what a step's statistic came to */
int rules_call(lua_State *L);           /* (buffer, statistic, new value) */

/* tune.c: how parameters are trained */
int tune_call_matches(lua_State *L);    /* (pattern, name): whether it does */
int tune_call_matching(lua_State *L);   /* (pattern): numbers of the parameters it matches */
int tune_call_parameters(lua_State *L); /* (): { { name, rank, buffer }, ... } */
int tune_call(lua_State *L);            /* (number, frozen, muon, rate or nil, decay or nil) */

void ops_targets(lua_State *L); /* pushes targets() */

#endif
