/* SPDX-License-Identifier: MIT
** Folders of temporary files. */
#ifndef STRATA_REMOVE_H
#define STRATA_REMOVE_H

/* Removes a folder with what is in it, without memory: there may be none left.  Links are not
** followed; what cannot be removed stays. */
void remove_folder(const char *path);
void remove_content(int folder);

#endif
