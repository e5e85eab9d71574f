"""Cuts a GGUF file into pieces as llama-gguf-split does."""
import struct


def read_head(data):
    """The bytes of the metadata pairs, their number, and the tensors as (entry without offset, offset), and where the data begin."""
    at = 24
    n_tensors, n_pairs = struct.unpack_from("<QQ", data, 8)
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

    def skip_text(at):
        return at + 8 + struct.unpack_from("<Q", data, at)[0]

    def skip_value(kind, at):
        if kind == 8:
            return skip_text(at)
        if kind != 9:
            return at + sizes[kind]
        kind, count = struct.unpack_from("<IQ", data, at)
        at += 12
        for _ in range(count if kind == 8 else 0):
            at = skip_text(at)
        return at if kind == 8 else at + count * sizes[kind]

    for _ in range(n_pairs):
        at = skip_text(at)
        at = skip_value(struct.unpack_from("<I", data, at)[0], at + 4)
    pairs, tensors = data[24:at], []
    for _ in range(n_tensors):
        begin, at = at, skip_text(at)
        at += 4 + 8 * struct.unpack_from("<I", data, at)[0] + 4
        tensors.append((data[begin:at], struct.unpack_from("<Q", data, at)[0]))
        at += 8
    return pairs, n_pairs, tensors, (at + 31) // 32 * 32


def split_gguf(data, n):
    """The bytes of n pieces of a file with the alignment 32."""
    pairs, n_pairs, tensors, data_begin = read_head(data)
    ends = sorted({offset for _, offset in tensors} | {len(data) - data_begin})
    pieces = []
    for number in range(n):
        own = tensors[number * len(tensors) // n:(number + 1) * len(tensors) // n]
        keys = b"".join(struct.pack("<Q", len(key)) + key + value for key, value in (
            (b"split.no", struct.pack("<IH", 2, number)), (b"split.count", struct.pack("<IH", 2, n)),
            (b"split.tensors.count", struct.pack("<Ii", 5, len(tensors)))))
        directory, body = b"", b""
        for entry, offset in own:
            directory += entry + struct.pack("<Q", len(body))
            end = ends[ends.index(offset) + 1]
            body += data[data_begin + offset:data_begin + end]
            body += bytes(-len(body) % 32)
        head = struct.pack("<4sIQQ", b"GGUF", 3, len(own), 3 + (n_pairs if number == 0 else 0))
        head += (pairs if number == 0 else b"") + keys + directory
        pieces.append(head + bytes(-len(head) % 32) + body)
    return pieces
