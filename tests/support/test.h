/* SPDX-License-Identifier: MIT
** What every test program begins with: cmocka and the headers that it wants before itself. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
