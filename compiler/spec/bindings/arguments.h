/* SPDX-License-Identifier: MIT
** Arguments of primitives, checked: 'what' is the primitive's name in errors. */
#ifndef STRATA_ARGUMENTS_H
#define STRATA_ARGUMENTS_H

#include "front.h"

/* 'name': what the number is. */
int64_t argument_integer(lua_State *L, int arg, const char *what, const char *name);
/* From 0; absent: the last one. */
int argument_axis(lua_State *L, int arg, const char *what, int rank);
/* The tensors of a list, at least one, in an array that belongs to the Lua stack. */
Node **argument_nodes(lua_State *L, int arg, const char *what, int *count);
/* An option of the table at 'arg', pushed; false if there is none. */
bool option_find(lua_State *L, int arg, const char *name);
/* 'names': those there are, NULL at the end. */
void options_check(lua_State *L, int arg, const char *what, const char *const *names);
double option_number(lua_State *L, int arg, const char *what, const char *name, double otherwise);
bool option_boolean(lua_State *L, int arg, const char *what, const char *name, bool otherwise);

#endif
