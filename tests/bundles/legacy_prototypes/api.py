""" Copy of the abstract classes, as participants of 2022 shipped it. """


class Predictor():
    def __init__(self):
        pass

    def predict(self, query_set):
        raise NotImplementedError


class Learner():
    def __init__(self):
        pass

    def fit(self, support_set):
        raise NotImplementedError

    def save(self, path_to_save):
        raise NotImplementedError

    def load(self, path_to_load):
        raise NotImplementedError


class MetaLearner():
    def __init__(self, train_classes, total_classes, logger):
        self.train_classes = train_classes
        self.total_classes = total_classes
        self.log = logger.log

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        raise NotImplementedError
