/* SPDX-License-Identifier: MIT
** How the header of a file with a checksum begins; shared by reader and writer.
** The checksum is the XXH64 of the whole file with zeros in place of its digits.
*/
#ifndef STRATA_SAFETENSORS_LAYOUT_H
#define STRATA_SAFETENSORS_LAYOUT_H

#define CHECKSUM_PREFIX "{ \"__metadata__\": {\"checksum\": \"xxh64:"
enum {
    CHECKSUM_AT = 8 + sizeof CHECKSUM_PREFIX - 1,
    CHECKSUM_DIGITS = 16,
    CHECKSUM_END = CHECKSUM_AT + CHECKSUM_DIGITS
};

#endif
