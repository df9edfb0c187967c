import os

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    os.write(1, b"\x1b[31mred\x1b[0m \x00\x01\x02 \xff\xfe \x07 \x9b31m \r overwritten\n")
    os.write(1, b"\x1b]0;title\x07 \x1b]8;;http://example.invalid\x1b\\link\n")
    os.write(2, b"<script>alert(1)</script>\n")
    os.write(1, "\u202egnp.exe \u2066 \u200b TRIED\n".encode())


MyMetaLearner = during_meta_fit(attack)
