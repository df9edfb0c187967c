import os
import signal

from honest import HonestLearner, HonestMetaLearner

MyMetaLearner = HonestMetaLearner


class MyLearner(HonestLearner):
    def fit(self, support):
        os.kill(os.getpid(), signal.SIGSTOP)
        return super().fit(support)
