from honest import HonestLearner, HonestMetaLearner


class MyLearner(HonestLearner):
    def save(self, path):
        super().save(path)
        with open(f"{path}/big", "wb") as file:
            for _ in range(1024):
                file.write(b"\0" * (1 << 20))


class MyMetaLearner(HonestMetaLearner):
    learner = MyLearner
