/* SPDX-License-Identifier: MIT
** Members that an object of JSON must have; a test fails where one is missing. */
#ifndef TEST_JSON_GET_H
#define TEST_JSON_GET_H

#include "json.h"

const JsonNode *json_get(const Json *j, const JsonNode *n, const char *key);
double json_get_number(const Json *j, const JsonNode *n, const char *key);

#endif
