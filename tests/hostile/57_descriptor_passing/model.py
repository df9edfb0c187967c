import _socket

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit, expect_refusal


def attack():
    with open("/proc/net/unix") as lines:
        names = [line.split()[-1] for line in lines if "@" in line or "/" in line.split()[-1]]
    if names:
        print("BREACH sockets of others:", names[:5])
    for path in (
        "/var/run/docker.sock",
        "\0/tmp/.X11-unix/X0",
        "\0/containerd-shim",
        "/run/dbus/system_bus_socket",
    ):

        def connect(path=path):
            handle = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0)
            handle.settimeout(1)
            handle.connect(path)

        expect_refusal(f"connect {path!r}", connect)


MyMetaLearner = during_meta_fit(attack)
