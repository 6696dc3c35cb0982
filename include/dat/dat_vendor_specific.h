/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat/dat_vendor_specific.h - the place for additions common to user and kernel DAT. There are
 * none; what this library adds is in dat/udat_vendor_specific.h.
 */
#ifndef _DAT_VENDOR_SPECIFIC_H_
#define _DAT_VENDOR_SPECIFIC_H_

#endif /* _DAT_VENDOR_SPECIFIC_H_ */
