# tries: to have codemode decode images that are far larger than their files
# must: held: left out, and a note says so
import base64
import struct
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def show(mime, data):
    data = base64.b64encode(data).decode()
    send(message(method="display", params={"run": run_request()["params"]["run"], "mime": mime, "data": data}))


rows = zlib.compress(bytes(64 << 20), 9)
for width, height in ((60000, 60000), (0x7fffffff, 1), (1, 0x7fffffff), (1, 1), (4096, 4096)):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 6, 0, 0, 1))
    show("image/png", b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", rows) + chunk(b"IEND", b""))
show("image/gif", b"GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\x02\x02D\x01\0;")
laughs = "".join(f"<g id='a{n + 1}'>" + f"<use href='#a{n}'/>" * 10 + "</g>" for n in range(12))
show("image/svg+xml", f"<svg xmlns='http://www.w3.org/2000/svg'><g id='a0'/>{laughs}</svg>".encode())
held("left out")
