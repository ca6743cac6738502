/* SPDX-License-Identifier: MIT
** Names of places in a model, "layers.3.mlp", which the library's Lua composes and which parameter
** names begin with.  Only this file takes them apart.
*/
#ifndef STRATA_SITE_H
#define STRATA_SITE_H

#include <stdbool.h>

int site_layer(const char *site);        /* 3; -1: in no layer, or NULL */
const char *site_inside(const char *at); /* behind the layer, "mlp"; elsewhere all of it */
const char *site_last(const char *site); /* the last part, "mlp" */
bool site_within(const char *site, const char *outer); /* it is 'outer', or in it */
bool site_is_mixer(const char *param);                 /* a parameter is the mixer's */

#endif
