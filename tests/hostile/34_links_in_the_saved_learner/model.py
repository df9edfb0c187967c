import os

from honest import HonestLearner, HonestMetaLearner


class MyLearner(HonestLearner):
    def save(self, path):
        super().save(path)
        os.symlink("/etc/passwd", f"{path}/passwd")
        os.symlink("/proc/1/environ", f"{path}/environ")
        os.symlink("..", f"{path}/up")
        os.mkfifo(f"{path}/pipe")


class MyMetaLearner(HonestMetaLearner):
    learner = MyLearner
