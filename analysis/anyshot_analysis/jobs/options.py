"""What the options of analyses mean, and which choices they have: one text for one name, wherever it occurs."""

from __future__ import annotations

from anyshot_scoring.rules import RULES

BACKBONES = "pixels, conv4, conv4-WIDTH, or a model of timm such as resnet18"
HEADS = "baseline, baseline++, protonet, r2d2, metaoptnet-svm"

CHOICES: dict[str, tuple[str, ...]] = {
    "classes": ("novel", "base"),
    "distance": ("task2vec", "cosine"),
    "maps": ("positions", "pooled", "flat"),
    "mixing": ("weighted", "coin"),
    "query_from": ("rest", "all"),
    "rule": tuple(RULES),
}
WORDS: dict[str, str] = {
    "backbone": f"Network that images become features by: {BACKBONES}.",
    "base_classes": "Base classes of the dataset.",
    "baselines": "The results are those of baselines alone.",
    "bins": "Bins of equal width that confidences are put into.",
    "cache": "Folder that keeps features for the next time.",
    "classes": "What is drawn: novel classes that are tested on, or base classes that are learned from.",
    "coverage": "Share of tasks whose accuracy the band is to hold.",
    "datasets": "Datasets of the phase, where no results are given.",
    "distance": "Of two tasks: task2vec as the papers' code computes it, or the plain cosine of their text.",
    "draws": "Sets of classes that are drawn for each number.",
    "episodes": "Meta-batches of training, four tasks each.",
    "feedback": "Scores of the feedback phase by submission, as JSON.",
    "fixed": "Penalty to compare with, scikit-learn's C.",
    "flip": "Probability of the opposite order that is small enough.",
    "floor_tasks": "Tasks that are drawn twice, for the distance of a task to itself.",
    "heads": f"What is fitted on each support set, separated by commas: {HEADS}.",
    "iterations": "Meta-batches of MAML at most; it ends when its loss stops falling.",
    "layer": "Layer whose features count; by default `features`, or the last one.",
    "lead": "Difference of two submissions that is to be settled, in normalized accuracy.",
    "maps": "How maps become rows: positions of each image, their mean (pooled), or all of them (flat).",
    "margin": "Difference that is too small to matter, in accuracy.",
    "meta_batch": "Tasks of each meta-batch; the papers have 100.",
    "mixing": "How classes are mixed: weighted draws as the papers' code, or a coin for each place as their text.",
    "mu_m": "Mean of the means of the classes.",
    "mu_s": "Mean of the standard deviations of the classes.",
    "names": "Names to show by submission, as JSON.",
    "networks": "Widths of the layers of each embedding, as JSON.",
    "novel_classes": "Novel classes of the dataset.",
    "overlap": "Look for images that are in both pools, by their digests.",
    "permutations": "Random pairings of whole images, for chance levels without a formula.",
    "pixels": "Side that images are shrunk to; by default what the network usually takes.",
    "probe": f"Network that tasks are embedded by: {BACKBONES}.",
    "protocol": "Protocol of the phase, as JSON with its name and settings.",
    "query": "Query images of each class.",
    "query_from": "Where queries are drawn: the rest of the images, or all of them as the paper has it.",
    "replicates": "Redraws of the bootstrap.",
    "rho": "Risk of two samples of tasks that share no class.",
    "rule": "Ranking rule of the phase.",
    "sd_classes": "Assumed standard deviation of the difference between classes, where no results are given.",
    "sd_datasets": "Assumed standard deviation of the difference between datasets, where no results are given.",
    "sd_tasks": "Assumed standard deviation of the difference between tasks, where no results are given.",
    "seed": "Where all random numbers start: the same seed gives the same report.",
    "seeds": "Trainings of each arm, at least three.",
    "share": "Part of the classes of each dataset that makes a set, between 0 and 1.",
    "shots": "Support images of each class.",
    "sigma_m": "Standard deviation of the means of the classes.",
    "sigma_s": "Standard deviation of the standard deviations of the classes.",
    "sizes": "Numbers of classes to draw, separated by commas.",
    "split_seed": "Seed of the kit's split of classes, by which the weights were trained.",
    "strength": "Penalty of the head baseline, scikit-learn's C.",
    "strengths": "Penalties to choose from, scikit-learn's C, separated by commas.",
    "submissions": "How many submissions each team had scored, as JSON by submission.",
    "tasks": "Tasks that are drawn.",
    "union_iterations": "Batches of the union learner at most; it ends when its loss stops falling.",
    "wanted": "Accuracy to be safe of.",
    "ways": "Classes of a task.",
    "weights": "File of a state dictionary for the network; random weights without it.",
    "width": "Neurons of each hidden layer; the papers have 128.",
}
OWN: dict[tuple[str, str], str] = {
    ("audit", "tasks"): "Tasks of the whole phase, which its datasets share.",
    ("plan", "classes"): "Classes of a dataset, where no results are given.",
    ("plan", "tasks"): "Tasks of a dataset, where no results are given.",
    ("n-way-flips", "draws"): "Sets of classes that are drawn.",
    ("feature-diversity", "permutations"): "Times that the images are dealt to the datasets at random.",
    ("class-flips", "tasks"): "Tasks of each draw; few of them make flips by their noise alone.",
}


def help_of(analysis: str, name: str) -> str:
    """What an option of an analysis means."""
    return OWN.get((analysis, name), WORDS[name])


def choices_of(analysis: str, name: str) -> tuple[str, ...]:
    """The values that an option takes, where they are a few names."""
    return () if (analysis, name) in OWN else CHOICES.get(name, ())
