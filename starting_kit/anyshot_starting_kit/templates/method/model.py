"""Prototypical networks (Snell et al., 2017) in a page: a first submission to start from.

The platform imports this file and uses two classes: `MyMetaLearner`, which it trains once, and `MyLearner`, which it
makes anew and loads for every test task. `anyshot dry-run . --quick` does the same on your machine.
"""

from pathlib import Path

import torch
import torch.nn.functional as F
from api import Learner, MetaLearner, Predictor  # the three base classes; the platform provides api.py
from network import Embedding  # helper modules of your own lie beside this file

from anyshot_starting_kit import budget  # how many seconds are left: a run that uses them all has no score

torch.manual_seed(98)  # or leave it out: each run's random numbers then start from its training seed

TRAIN_TASKS = 150  # more is better, up to the time budget of the phase
TRAIN_SHARE = 0.5  # of the time: what is left must do for all test tasks
VALIDATE_EVERY = 50  # training tasks between two rounds of validation
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def class_means(features, labels, n_ways):
    """The prototype of each class: the mean of its support features. Labels run from 0 to n_ways - 1."""
    return torch.stack([features[labels == label].mean(0) for label in range(n_ways)])


def logits_of(features, prototypes):
    """The nearer a prototype, the higher the logit."""
    return -torch.cdist(features, prototypes).square() / features.shape[1]


class MyMetaLearner(MetaLearner):
    """Learns the embedding from many small tasks."""

    def __init__(self, train_classes, total_classes, logger):
        # Sets self.train_classes (N of the tasks), self.total_classes and self.log (see below).
        super().__init__(train_classes, total_classes, logger)
        self.embedding = Embedding().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.embedding.parameters(), lr=2e-3)
        self.number = 0  # of training tasks so far
        self.best, self.best_score = None, float("-inf")
        self.stop_at = None  # the seconds that are to be left when training ends

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Gets two functions of a count: each call yields so many tasks (config.json says of what shape)."""
        if self.stop_at is None:
            self.stop_at = budget.remaining().least * (1 - TRAIN_SHARE)
        for task in meta_train_generator(TRAIN_TASKS):
            if budget.remaining().least < self.stop_at:
                break
            self.train_on(task)
            self.number += 1
            if self.number % VALIDATE_EVERY == 0 or self.number == 1:
                score = self.validate(meta_valid_generator)
                if score >= self.best_score:  # keep the embedding that was best on datasets never trained on
                    self.best_score = score
                    self.best = {name: value.clone() for name, value in self.embedding.state_dict().items()}
        if self.best is not None:
            self.embedding.load_state_dict(self.best)
        return MyLearner(self.embedding)

    # With the next two, which are optional, a run that loses its machine goes on with its training where it stood.

    def checkpoint(self, path_to_save):
        """Called now and then between two training tasks, with an empty folder."""
        state = {name: getattr(self, name) for name in ("number", "best", "best_score", "stop_at")}
        state |= {"embedding": self.embedding.state_dict(), "optimizer": self.optimizer.state_dict()}
        torch.save(state, Path(path_to_save) / "training.pt")

    def resume(self, path_to_load):
        """Called before meta_fit; its first loop over training tasks then goes on after the last one that was seen."""
        state = torch.load(Path(path_to_load) / "training.pt", map_location=DEVICE)
        self.embedding.load_state_dict(state.pop("embedding"))
        self.optimizer.load_state_dict(state.pop("optimizer"))
        for name, value in state.items():
            setattr(self, name, value)

    def train_on(self, task):
        """One step: classify the query of a task by the prototypes of its support."""
        # A set is (images [n, 3, 128, 128] in [0, 1], labels [n], the dataset's own labels [n]).
        support, support_labels, _ = task.support_set
        query, query_labels, _ = task.query_set
        self.embedding.train()
        prototypes = class_means(self.embedding(support.to(DEVICE)), support_labels, task.num_ways)
        logits = logits_of(self.embedding(query.to(DEVICE)), prototypes)
        loss = F.cross_entropy(logits, query_labels.to(DEVICE))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        # Prints a line and adds a row to the table that you get back with your results.
        self.log(task, logits.detach().cpu().numpy(), loss.item())

    def validate(self, meta_valid_generator):
        """Mean accuracy on validation tasks; 0 where config.json sets no dataset aside (then the last one is kept)."""
        if meta_valid_generator is None:
            return 0.0
        scores = []
        for task in meta_valid_generator(10):  # every call yields the same tasks, so rounds can be compared
            predictor = MyLearner(self.embedding).fit((*task.support_set, task.num_ways, task.num_shots))
            logits = predictor.predict(task.query_set[0])
            self.log(task, logits, meta_train=False)
            scores.append(float((logits.argmax(1) == task.query_set[1].numpy()).mean()))
        return sum(scores) / len(scores)


class MyLearner(Learner):
    """Solves one task. Made without arguments, then loaded, for each test task."""

    def __init__(self, embedding=None):
        super().__init__()
        self.embedding = Embedding().to(DEVICE) if embedding is None else embedding

    def fit(self, support_set):
        """The support set of a test task comes as one tuple; ways and shots differ from task to task."""
        images, labels, _, n_ways, _k_shots = support_set
        self.embedding.eval()
        with torch.no_grad():
            prototypes = class_means(self.embedding(images.to(DEVICE)), labels, n_ways)
        return MyPredictor(self.embedding, prototypes)

    def save(self, path_to_save):
        """Called once after meta_fit, with an empty folder."""
        torch.save(self.embedding.state_dict(), Path(path_to_save) / "embedding.pt")

    def load(self, path_to_load):
        """Called before every test task, with the same folder."""
        state = torch.load(Path(path_to_load) / "embedding.pt", map_location=DEVICE)
        self.embedding.load_state_dict(state)


class MyPredictor(Predictor):
    """Classifies the query images of the task it was fitted to."""

    def __init__(self, embedding, prototypes):
        super().__init__()
        self.embedding, self.prototypes = embedding, prototypes

    def predict(self, query_set):
        """All query images at once; returns logits [n, n_ways] (probabilities or labels [n] are fine too)."""
        with torch.no_grad():
            # In pieces, because a task may have 400 images.
            features = torch.cat([self.embedding(piece.to(DEVICE)) for piece in query_set.split(100)])
            return logits_of(features, self.prototypes).cpu().numpy()
