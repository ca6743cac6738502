/* SPDX-License-Identifier: MIT
** The training settings of a spec, by the rows of settings.def. */
#ifndef STRATA_SETTINGS_H
#define STRATA_SETTINGS_H

#include <stdint.h>

/* strata_model.schedule */
typedef enum ScheduleKind {
#define KIND(name, text) SCHEDULE_##name,
#include "settings.def"
} ScheduleKind;

typedef struct Settings {
#define SETTING(type, name, from) type name;
#include "settings.def"
} Settings;

#endif
