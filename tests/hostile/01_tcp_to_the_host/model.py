import _socket
import json
import os

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit, expect_refusal

HERE = os.path.dirname(os.path.abspath(__file__))


def attack():
    with open(os.path.join(HERE, "target.txt")) as file:
        addresses = json.load(file)
    for host, port in addresses:

        def connect(host=host, port=port):
            handle = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM, 0)
            handle.settimeout(1)
            handle.connect((host, port))

        expect_refusal(f"connect {host}", connect)


MyMetaLearner = during_meta_fit(attack)
