"""A submission in the style of 2022: nearest class mean on small images, validated on three datasets, trained on batches."""
import json
import os
import pickle
import random

import numpy as np
import torch
import torch.nn.functional as F

from api import MetaLearner, Learner, Predictor
from helpers import Embedding, shrink

SEED = 98
random.seed(SEED)
torch.manual_seed(SEED)
np.random.seed(SEED)

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "config.json")) as f:
    SETTINGS = json.load(f)


class MyMetaLearner(MetaLearner):

    def __init__(self, train_classes, total_classes, logger):
        super().__init__(train_classes, total_classes, logger)
        assert train_classes == total_classes
        self.model = Embedding(SETTINGS["side"], train_classes)

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        for batch in meta_train_generator(SETTINGS["steps"]):
            assert isinstance(batch, list)
            X_train, y_train = batch
            logits = self.model.head(self.model(X_train))
            loss = F.cross_entropy(logits, y_train.view(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            self.log(batch, logits.detach().cpu().numpy(), loss.item())
        for task in meta_valid_generator(2):
            predictor = MyLearner(self.model).fit(
                (*task.support_set, task.num_ways, task.num_shots))
            self.log(task, predictor.predict(task.query_set[0]), meta_train=False)
        with open("../log.txt", "w") as f:
            f.write("done")
        return MyLearner(self.model)


class MyLearner(Learner):

    def __init__(self, model=None):
        super().__init__()
        self.model = model

    def fit(self, support_set):
        X_train, y_train, original_y_train, n_ways, k_shots = support_set
        with torch.no_grad():
            features = self.model(X_train)
        means = torch.stack([features[y_train == label].mean(0) for label in range(n_ways)])
        return MyPredictor(self.model, means)

    def save(self, path_to_save):
        torch.save(self.model, os.path.join(path_to_save, "model.pt"))
        with open(os.path.join(path_to_save, "settings.pkl"), "wb") as f:
            pickle.dump(SETTINGS, f)

    def load(self, path_to_load):
        self.model = torch.load(os.path.join(path_to_load, "model.pt"))


class MyPredictor(Predictor):

    def __init__(self, model, means):
        super().__init__()
        self.model = model
        self.means = means

    def predict(self, query_set):
        with torch.no_grad():
            features = self.model(query_set)
            return (-torch.cdist(features, self.means)).cpu().numpy()
