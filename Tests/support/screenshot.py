"""Pictures of Xvfb's screen."""

import struct
import zlib


def png(image, area=None):
    """A PNG of the screen that Xvfb keeps in a file, or of an area of it (left, top, width, height)."""
    # The file is in XWD format. The fields of its header are big-endian, and a table of colors comes before the pixels.
    fields = struct.unpack(">25I", image[:100])
    width, height, line = fields[4], fields[5], fields[12]
    start = fields[0] + fields[19] * 12
    left, top, width, height = area or (0, 0, width, height)
    rows = []
    for y in range(top, top + height):
        row = image[start + y * line + left * 4 : start + y * line + (left + width) * 4]
        rgb = bytearray(width * 3)
        rgb[0::3], rgb[1::3], rgb[2::3] = row[2::4], row[1::4], row[0::4]
        rows.append(b"\0" + bytes(rgb))

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"".join(rows), 9))
    return b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"IEND", b"")
