/* SPDX-License-Identifier: MIT
** What the files of a checkpoint's folder say about texts, as the object that is stored in a
** tokenizer's file (text_facts.h).
*/
#ifndef STRATA_FOLDER_TEXT_H
#define STRATA_FOLDER_TEXT_H

#include "checkpoint_folder.h"

/* The object's text; empty where no file says anything. */
int folder_text_object(const CheckpointFolder *c, const Json *config, Text *object, Error *e);

#endif
