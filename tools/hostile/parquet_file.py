"""Writes minimal Parquet files: one uncompressed column of whole numbers, with any wrong values in the metadata."""

from __future__ import annotations

import struct

I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12


def number(value: int) -> bytes:
    """Encodes a signed whole number in Thrift's compact protocol: zigzag, seven bits per byte."""
    value = (value << 1 if value >= 0 else (-value << 1) - 1) & (1 << 64) - 1
    return length(value)


def length(value: int) -> bytes:
    """Encodes a length, seven bits per byte."""
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def struct_of(*fields: tuple[int, int, object]) -> bytes:
    """Encodes a struct from the id, type and value of each field, in the order of ids."""
    out, before = b"", 0
    for at, kind, value in fields:
        out += bytes([(at - before) << 4 | kind])
        before = at
        if kind in (I32, I64):
            out += number(value)
        elif kind == BINARY:
            out += length(len(value)) + value
        elif kind == LIST:
            inner, items = value
            out += bytes([len(items) << 4 | inner]) + b"".join(items)
        else:
            out += value
    return out + b"\0"


def table(
    name: str,
    many: int,
    *,
    offset: int | None = None,
    size: int | None = None,
    rows: int | None = None,
    unpacked: int | None = None,
    encoding: int = 0,
) -> bytes:
    """Returns a file with `many` numbers; the arguments replace the true values in its metadata."""
    data = struct.pack(f"<{many}q", *range(many))
    page = struct_of((1, I32, many), (2, I32, encoding), (3, I32, 3), (4, I32, 3))
    head = struct_of((1, I32, 0), (2, I32, len(data) if unpacked is None else unpacked), (3, I32, len(data)), (5, STRUCT, page))
    column = struct_of(
        (1, I32, 2), (2, LIST, (I32, [number(encoding)])), (3, LIST, (BINARY, [length(len(name)) + name.encode()])),
        (4, I32, 0), (5, I64, many), (6, I64, len(head + data)), (7, I64, len(head + data) if size is None else size),
        (9, I64, 4 if offset is None else offset),
    )  # fmt: skip
    chunk = struct_of((2, I64, 4), (3, STRUCT, column))
    group = struct_of((1, LIST, (STRUCT, [chunk])), (2, I64, len(data)), (3, I64, many if rows is None else rows))
    root = struct_of((4, BINARY, b"root"), (5, I32, 1))
    leaf = struct_of((1, I32, 2), (3, I32, 0), (4, BINARY, name.encode()))
    footer = struct_of(
        (1, I32, 1), (2, LIST, (STRUCT, [root, leaf])), (3, I64, many if rows is None else rows),
        (4, LIST, (STRUCT, [group])),
    )  # fmt: skip
    return b"PAR1" + head + data + footer + struct.pack("<I", len(footer)) + b"PAR1"
