/* SPDX-License-Identifier: MIT
** Limits of the readers of files, in one place because --help lists them all.
*/
#ifndef STRATA_FILE_LIMITS_H
#define STRATA_FILE_LIMITS_H

#define JSON_DEPTH 64
#define JSONL_LINE 67108864 /* bytes */
#define SAFETENSORS_RANK 8
#define SAFETENSORS_TENSORS 100000
#define SAFETENSORS_HEADER 100000000   /* bytes */
#define TOKENIZER_FILE_BYTES 100000000 /* bytes */

#endif
