/* Constants of LevelDB's table format that writer and reader share. */
#ifndef HR_TABLE_FORMAT_H
#define HR_TABLE_FORMAT_H

enum {
    TABLE_BLOCK = 262144, /* bytes at which a data block is closed, as TensorFlow does */
    TABLE_FOOTER = 48,
    TABLE_TRAILER = 5, /* after each block: its type, its checksum */
};
#define TABLE_MAGIC "\x57\xfb\x80\x8b\x24\x75\x47\xdb"

#endif
