import glob
import os
import stat

from honest import HonestLearner as MyLearner  # noqa: F401
from honest import during_meta_fit


def attack():
    print("TRIED")
    for path in (
        "/var/run/docker.sock",
        "/run/docker.sock",
        "/run/containerd/containerd.sock",
        "/dev/kvm",
        "/dev/mem",
        "/dev/kmsg",
        "/dev/fuse",
        "/dev/net/tun",
        "/dev/vhost-vsock",
        "/dev/loop-control",
        "/dev/port",
    ):
        if os.path.exists(path):
            print("BREACH", path)
    for path in glob.glob("/dev/**", recursive=True) + glob.glob("/run/**", recursive=True):
        try:
            mode = os.stat(path).st_mode
        except OSError:
            continue
        if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
            print("BREACH", path)


MyMetaLearner = during_meta_fit(attack)
