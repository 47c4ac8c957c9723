# tries: to hand over more than a picture: text, a program and files in and behind images that can be decoded
# must: held: only pixels are passed on
import base64
import struct
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(*more):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress((b"\0" + b"\x7f" * 24) * 8))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(more) + pixels + chunk(b"IEND", b"")


secret = b"<script>smuggled</script>"
for data in (
    picture() + secret * 1000,
    picture(chunk(b"tEXt", b"Comment\0" + secret)),
    picture(chunk(b"eXIf", secret), chunk(b"acTL", struct.pack(">II", 2, 0)), chunk(b"fdAT", secret)),
    picture(chunk(b"smUg", secret)),
    b"\x89PNG\r\n\x1a\n" + secret * 1000,
):
    data = base64.b64encode(data).decode()
    send(message(method="display", params={"run": run_request()["params"]["run"], "mime": "image/png", "data": data}))
held("only pixels")
