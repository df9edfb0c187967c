"""Each method does what its paper says: held where a wrong method would still train, and still score."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import timm
import torch
from torch.nn.functional import cross_entropy

from anyshot_core.baselines import merged_config
from anyshot_starting_kit.networks.backbones import TIMM
from anyshot_starting_kit.networks.heads import matching_attention, negative_squared_distances, prototypes
from anyshot_starting_kit.runner.generators import Task
from anyshot_starting_kit.training import train_on_tasks
from anyshot_starting_kit.training.batchwise import Classifier
from anyshot_starting_kit.training.schedules import make_schedule, read_stairs
from anyshot_starting_kit.training.settings import BadSettings, LoopSettings
from tests.baselines.test_training import draw_task
from tests.baselines.trial import FOLDER, NAMES, load_model

TINY = {"backbone": "conv4", "width": 4, "stem_pool": 1}


def large(seed: int) -> Task:
    """A 3-way 2-shot task of 16 x 16 pixels."""
    task = draw_task(seed)

    def grown(part: tuple[torch.Tensor, ...]) -> Any:
        return (part[0].repeat(1, 1, 4, 4), *part[1:])

    return Task(3, 2, grown(task.support_set), grown(task.query_set), task.original_class_idx, task.dataset)


def outer_gradient(module: Any, task: Task, *arguments: int) -> torch.Tensor:
    """Of the query loss, with respect to the meta-learned weights, in training."""
    torch.manual_seed(0)
    model = module.GradientLearner(*arguments).double().train()
    support, labels, _ = task.support_set
    logits = model(support.double(), labels, task.query_set[0].double(), 3)
    cross_entropy(logits, task.query_set[1]).backward()
    return torch.cat([weight.grad.flatten() for weight in model.backbone.parameters()])


def slope_by_differences(module: Any, task: Task, direction: torch.Tensor) -> float:
    """The derivative of the loss after adaptation along a direction of the initial weights."""
    losses = []
    for sign in (1, -1):
        torch.manual_seed(0)
        model = module.GradientLearner().double().train()
        with torch.no_grad():
            at = 0
            for weight in model.backbone.parameters():
                part = direction[at : at + weight.numel()].view_as(weight)
                weight.add_(sign * 1e-6 * part)
                at += weight.numel()
        support, labels, _ = task.support_set
        logits = model(support.double(), labels, task.query_set[0].double(), 3)
        losses.append(cross_entropy(logits, task.query_set[1]).item())
    return (losses[0] - losses[1]) / 2e-6


def test_maml_differentiates_through_its_inner_steps() -> None:
    """Its outer gradient is the derivative of the loss after adaptation; first-order MAML's is not."""
    inner = {"inner_rate": 0.1, "inner_steps": 3}
    task, second = large(0), load_model("maml", **TINY, **inner)
    gradient = outer_gradient(second, task)
    direction = gradient / gradient.norm()
    assert slope_by_differences(second, task, direction) == pytest.approx(gradient.norm().item(), rel=0.01)
    first = outer_gradient(load_model("fo_maml", **TINY, **inner), task)
    assert (first - gradient).norm() > 0.1 * gradient.norm()
    as_first = outer_gradient(load_model("maml", **TINY, **inner, second_order=False), task)
    torch.testing.assert_close(as_first, first)


@pytest.mark.parametrize("name", ["maml", "fo_maml"])
def test_an_inner_step_goes_as_far_as_its_rate(name: str) -> None:
    """From a head of zeros one step makes it the rate times the mean difference of the classes' features."""
    module = load_model(name, **TINY, inner_rate=0.25, inner_steps=1, test_inner_steps=1)
    model, task = module.GradientLearner().eval(), large(0)
    (support, labels, _), queries = task.support_set, task.query_set[0]
    with torch.no_grad():
        features = model.backbone(support)
        wanted = torch.nn.functional.one_hot(labels, 3).float() - 1 / 3
        head = 0.25 * wanted.T @ features / len(features)
        expected = model.backbone(queries) @ head.T
    torch.testing.assert_close(model(support, labels, queries, 3).detach(), expected, rtol=1e-4, atol=1e-6)


def test_the_maml_of_2022_learns_its_head_and_clips_each_value() -> None:
    """In training the head is meta-learned; no entry of a task's gradient is larger than it may be."""
    module = load_model("fo_maml_2022", **TINY, largest_slope=1e-3, meta_batch=2)
    torch.manual_seed(0)
    model, task = module.GradientLearner(3).train(), large(0)
    (support, labels, _), queries = task.support_set, task.query_set[0]
    (cross_entropy(model(support, labels, queries, 3), task.query_set[1]) / 2).backward()
    slopes = [weight.grad for weight in model.parameters()]
    assert all(slope is not None and slope.abs().max() <= 5e-4 + 1e-9 for slope in slopes)
    assert any(slope.abs().max() == pytest.approx(5e-4) for slope in slopes) and model.head.weight.grad.any()
    model.eval()
    assert model(support, labels, queries, 2 + 1).shape == (len(queries), 3)


def test_the_maml_of_2022_normalises_by_the_batch_and_starts_a_task_without_a_bias() -> None:
    """As its kit: of a query image it says something else beside other query images; images and steps left out."""
    module = load_model("fo_maml_2022", **TINY, inner_steps=0)
    model, task = module.GradientLearner(3).eval(), large(0)
    (support, labels, _), queries = task.support_set, task.query_set[0]
    torch.manual_seed(0)
    both = model(support, labels, queries, 3)
    torch.manual_seed(0)
    alone = model(support, labels, queries[:2], 3)
    assert (both[:2] - alone).abs().max() > 1e-3
    torch.manual_seed(0)
    head = torch.nn.Linear(model.backbone.width, 3)
    wanted = model.backbone(queries) @ head.weight.T
    torch.testing.assert_close(both.detach(), wanted.detach())
    model.train()
    torch.testing.assert_close(model.head(model.backbone(queries)), model(support, labels, queries, 3))
    other = load_model("fo_maml_2022", **TINY, inner_steps=0, batch_statistics=False, zero_bias=False)
    still = other.GradientLearner(3).eval()
    torch.manual_seed(0)
    seen = still(support, labels, queries, 3)
    torch.manual_seed(0)
    torch.testing.assert_close(seen[:2], still(support, labels, queries[:2], 3))


class Features(torch.nn.Module):
    """A head that shows what it was given of the query."""

    def forward(self, support: Any, labels: Any, queries: torch.Tensor, ways: int) -> torch.Tensor:
        return queries


@pytest.mark.parametrize("training", [True, False])
def test_support_and_query_are_batches_of_their_own_where_they_pass_apart(training: bool) -> None:
    """As in the kit of 2022; together the query's batch norm knows the support."""
    task = large(0)
    (support, labels, _), queries = task.support_set, task.query_set[0]

    def logits(shown: torch.Tensor, *, apart: bool) -> torch.Tensor:
        module = load_model("prototypical_networks", **TINY, batch_statistics=True, apart=apart)
        torch.manual_seed(0)
        model = module.EpisodicModel(module.SETTINGS, module.NearestPrototype()).train(training)
        model.head = Features()
        return model(shown, labels, queries, 3).detach()

    other = large(1).support_set[0]
    torch.testing.assert_close(logits(support, apart=True), logits(other, apart=True))
    assert (logits(support, apart=False) - logits(other, apart=False)).abs().max() > 1e-3


def test_the_cosines_of_a_class_are_summed_as_in_the_kit_of_2022() -> None:
    """Two images of a class count twice; no softmax over the support."""
    support = torch.tensor([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [0.0, -1.0]])
    queries = torch.tensor([[2.0, 0.0], [1.0, 1.0]])
    head = load_model("matching_networks", summed=True, scale=7.0).Attention()
    found = head(support, torch.tensor([0, 0, 1, 2]), queries, 3)
    half = 0.5**0.5
    torch.testing.assert_close(found, torch.tensor([[2.0, 0.0, 0.0], [2 * half, half, -half]]))


def batches_of_last_layers(learner: Any, task: Task) -> set[int]:
    """How many examples a linear layer sees at a time while a task is learned."""
    seen: set[int] = set()

    def note(module: torch.nn.Module, arguments: tuple[torch.Tensor, ...]) -> None:
        if isinstance(module, torch.nn.Linear):
            seen.add(len(arguments[0]))

    hook = torch.nn.modules.module.register_module_forward_pre_hook(note)
    learner.fit((*task.support_set, 3, 2))
    hook.remove()
    return seen


@pytest.mark.parametrize("name", ["fine_tuning", "train_from_scratch"])
def test_the_kit_of_2022_draws_with_replacement_and_starts_without_a_bias(name: str) -> None:
    """Of six images it makes batches of eight; before the first step no class is ahead."""
    task = large(0)
    for kit in (True, False):
        module = load_model(name, **TINY, test_steps=2, test_batch=8, zero_bias=kit, replacement=kit)
        learner = module.MyLearner()
        assert batches_of_last_layers(learner, task) == {8 if kit else 6}
        vars(module)["SETTINGS"] = type(module.SETTINGS).from_dict(
            {**TINY, "test_steps": 0, "zero_bias": kit}
        )
        for weight in learner.model.network.parameters():
            torch.nn.init.zeros_(weight)  # so that all there is to see is the bias
        logits = learner.fit((*task.support_set, 3, 2)).predict(task.query_set[0])
        assert bool(logits.any()) is not kit


@pytest.mark.parametrize("kit", [True, False])
def test_fine_tuning_of_the_kit_of_2022_knows_the_last_training_batch_alone(kit: bool) -> None:
    """Passing that batch once more tells its batch norm nothing new."""
    module = load_model("fine_tuning", **TINY, iterations=2, learning_rate=0.0, last_statistics=kit)
    batches = [(large(seed).support_set[0], torch.arange(6)) for seed in (0, 1)]
    made = module.MyMetaLearner(6, 6, SimpleNamespace(log=lambda *_, **__: None))
    network = made.meta_fit(lambda n: iter(batches[:n]), None).model
    before = [part.running_mean.clone() for part in network.modules() if hasattr(part, "running_mean")]
    network.train()(batches[-1][0])
    after = [part.running_mean for part in network.modules() if hasattr(part, "running_mean")]
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(before, after, strict=True)) is kit


@pytest.mark.parametrize("kit", [True, False])
def test_train_from_scratch_of_the_kit_of_2022_normalises_the_query_by_itself(kit: bool) -> None:
    """Of a query image it says something else beside other query images."""
    task = large(0)
    predictor = load_model("train_from_scratch", **TINY, test_steps=2, batch_statistics=kit).MyLearner()
    predictor = predictor.fit((*task.support_set, 3, 2))
    both, alone = predictor.predict(task.query_set[0]), predictor.predict(task.query_set[0][:2])
    assert np.allclose(both[:2], alone, atol=1e-5) is not kit


@pytest.mark.parametrize("fixed", [True, False])
def test_fix_ml_trains_on_one_support_set_a_class(fixed: bool) -> None:
    """With the switch every task shows a class with the same images; without it with others."""
    module = load_model("prototypical_networks", **TINY, iterations=6, fixed_supports=fixed)
    seen: set[tuple[float, ...]] = set()

    def log(task: Task, *_: Any, **__: Any) -> None:
        images, originals = task.support_set[0], task.support_set[2]
        seen.add(tuple(images[originals == c].sum().item() for c in range(3)))

    model = module.EpisodicModel(module.SETTINGS, module.NearestPrototype())
    train_on_tasks(model, lambda n: (large(seed) for seed in range(n)), None, module.SETTINGS, log)
    assert (len(seen) == 1) is fixed


def test_temperatures_multiply_the_logits() -> None:
    """Of prototypes by a fixed factor, of attention before the softmax, of ridge regression learned or not."""
    support, labels, queries = torch.rand(6, 5), torch.arange(3).repeat(2), torch.rand(4, 5)
    plain = negative_squared_distances(queries, prototypes(support, labels, 3))
    head = load_model("prototypical_networks", scale=10.0).NearestPrototype()
    torch.testing.assert_close(head(support, labels, queries, 3), 10 * plain)
    attention = load_model("matching_networks", scale=7.0).Attention()
    wanted = matching_attention(support, labels, queries, 3, torch.tensor(7.0))
    torch.testing.assert_close(attention(support, labels, queries, 3).detach(), wanted)
    assert attention.scale.requires_grad
    for name, kind in (("r2d2", "Ridge"), ("metaoptnet_svm", "SupportVectors")):
        for learned in (True, False):
            module = load_model(name, scale=7.0, learn_scale=learned)
            scale = getattr(module, kind)().scale
            assert scale.item() == 7.0 and scale.requires_grad is learned


def test_attention_is_a_softmax_of_scaled_cosines() -> None:
    """Vinyals et al. 2016, eq. 1, by hand."""
    support, labels, queries = torch.rand(4, 5), torch.tensor([0, 1, 1, 0]), torch.rand(3, 5)
    cosines = torch.nn.functional.cosine_similarity(queries[:, None], support[None], dim=2)
    attention = (7.0 * cosines).softmax(dim=1)
    wanted = torch.stack([attention[:, labels == way].sum(dim=1) for way in (0, 1)], dim=1)
    torch.testing.assert_close(matching_attention(support, labels, queries, 2, 7.0).exp(), wanted)


def test_validation_comes_when_it_is_due_on_as_many_tasks() -> None:
    """After every `validate_every` tasks of training, on `validation_tasks` of them."""
    settings = {"iterations": 6, "validate_every": 3, "validation_tasks": 2}
    module, asked = load_model("prototypical_networks", **TINY, **settings), []

    def valid(count: int) -> Iterator[Task]:
        asked.append(count)
        return (large(100 + seed) for seed in range(count))

    model = module.EpisodicModel(module.SETTINGS, module.NearestPrototype())
    train_on_tasks(
        model, lambda n: (large(s) for s in range(n)), valid, module.SETTINGS, lambda *_, **__: None
    )
    assert asked == [2, 2]


def test_stairs_hold_from_their_epochs_on() -> None:
    """As the papers write them, in epochs of so many steps of the optimiser."""
    text = "0(0.1)-20(6e-3)-40(1.2e-3)-50(2.4e-4)"
    assert read_stairs(text) == [(0, 0.1), (20, 0.006), (40, 0.0012), (50, 0.00024)]
    share = make_schedule(LoopSettings(schedule=text, learning_rate=0.1, epoch_steps=2))
    rates = [0.1 * share(steps, 0.0) for steps in (0, 39, 40, 79, 80, 100, 500)]
    assert rates == pytest.approx([0.1, 0.1, 0.006, 0.006, 0.0012, 0.00024, 0.00024])
    for wrong in ("20(0.1)-0(0.2)", "0(0.1), 20(0.2)", "stairs", "0(0.1)-"):
        with pytest.raises(
            BadSettings, match=r"method\.schedule is .* there are constant, cosine and stairs"
        ):
            read_stairs(wrong)
    with pytest.raises(BadSettings, match=r"learning_rate 0\.001 it begins with 0\(0\.001\)"):
        make_schedule(LoopSettings(schedule=text))


def test_the_supervised_baseline_of_the_papers() -> None:
    """Unit features times ten in training; at test time the Euclidean distance, or logistic regression."""
    classifier = Classifier(torch.nn.Flatten(), 5, 3, unit_scale=10.0)
    features = torch.rand(4, 5)
    torch.testing.assert_close(classifier.scores(7 * features), classifier.scores(features))
    unit = features / features.norm(dim=1, keepdim=True)
    torch.testing.assert_close(classifier.scores(features), 10 * classifier.linear(unit))
    task, answers = large(0), {}
    (support, labels, _), queries = task.support_set, task.query_set[0]
    for head in ("cosine", "euclidean", "logistic"):
        torch.manual_seed(0)
        module = load_model("supervised_baseline", **TINY, head=head, unit_scale=10.0)
        model = module.OnFeatures(module.SETTINGS.make_backbone()).eval()
        answers[head] = model(support, labels, queries, 3)
        if head == "euclidean":
            known, asked = model.backbone(support), model.backbone(queries)
            wanted = 10 * negative_squared_distances(asked, prototypes(known, labels, 3))
            torch.testing.assert_close(answers[head], wanted.detach(), rtol=1e-3, atol=1e-5)
    assert not torch.allclose(answers["logistic"], answers["euclidean"])
    with pytest.raises(BadSettings, match="head is 'nearest'; there are cosine, euclidean, logistic"):
        load_model("supervised_baseline", head="nearest")


def test_meta_baseline_has_two_stages_as_published() -> None:
    """100 epochs of batches of 128 by stairs, then 30 epochs of tasks at 1e-3: the classifier, then its distances."""
    method = merged_config(FOLDER / "meta_baseline", "two-sides")["method"] | TINY | {"drop_block": 0.0}
    module = load_model("meta_baseline", **method)
    first, second = module.stages(module.SETTINGS)
    assert (first.iterations, first.meta_batch, first.learning_rate) == (100_000, 1, 0.1)
    assert first.schedule == "0(0.1)-90(1e-2)"
    assert (second.iterations, second.meta_batch, second.learning_rate) == (30_000 * 4, 4, 0.001)
    assert second.schedule == "constant"
    batches = module.UnionOfClasses(lambda count: (large(seed) for seed in range(count)))(5)
    assert [len(images) for images, _ in batches] == [128] * 5
    head, (support, labels, queries) = (
        module.NearestCentroid(),
        (torch.rand(6, 5), torch.arange(3).repeat(2), torch.rand(4, 5)),
    )
    unit = torch.nn.functional.normalize
    wanted = 10 * negative_squared_distances(unit(queries), prototypes(unit(support), labels, 3))
    torch.testing.assert_close(head(support, labels, queries, 3), wanted)
    assert not head.scale.requires_grad
    with pytest.raises(BadSettings, match="head is 'nearest'; there are cosine, euclidean"):
        load_model("meta_baseline", head="nearest")


def test_meta_baseline_by_default_halves_its_iterations() -> None:
    """With the same rate and meta-batch in both stages, as Chen et al. do."""
    module = load_model("meta_baseline", **TINY, iterations=7, meta_batch=4)
    first, second = module.stages(module.SETTINGS)
    assert first == second and first.iterations == 3 and first.meta_batch == 4


def test_the_metadelta_of_the_kit_has_its_head_and_its_images() -> None:
    """A classifier of three layers, the inner ones half as wide; ten batches a step; images of 224 pixels."""
    config = merged_config(FOLDER / "metadelta", "pretrained")
    method = config["method"]
    classifier = Classifier(torch.nn.Flatten(), 64, 20, hidden_layers=method["hidden_layers"])
    layers = [part for part in classifier.hidden if isinstance(part, torch.nn.Linear)]
    shapes = [tuple(layer.weight.shape) for layer in (*layers, classifier.linear)]
    assert shapes == [(32, 64), (32, 32), (20, 32)]
    assert classifier.scores(torch.rand(2, 64)).shape == (2, 20)
    assert (config["batch_size"], method["meta_batch"], method["image_size"]) == (64, 10, 224)
    (name,) = method["backbones"]
    with torch.device("meta"):  # its shape alone
        network = timm.create_model(name.removeprefix(TIMM), num_classes=0)
    assert network.num_features == 2048 and "swsl" in name
    assert {*method["trained_layers"]} < {layer for layer, _ in network.named_children()}


def test_the_metadelta_of_the_kit_decodes_as_the_kit() -> None:
    """Its own program, written again: each set whitened by itself, twenty rounds of exact transport by cosines."""
    ot = pytest.importorskip("ot")
    draw = torch.Generator().manual_seed(0)
    labels, patterns = torch.arange(3).repeat(4), torch.randn(3, 20, generator=draw)
    support = patterns[labels] + torch.randn(12, 20, generator=draw)
    queries = 5 + patterns.repeat(10, 1) + 3 * torch.randn(30, 20, generator=draw)
    module = load_model("metadelta", **TINY, exact_transport=True)
    backbone = torch.nn.Identity()
    vars(module)["embed"] = lambda network, images: network(images)
    sets = [part - part.mean(dim=0) for part in (support, queries)]
    known, asked = ((part / part.norm(dim=1, keepdim=True)).double().numpy() for part in sets)
    hot = np.eye(3)[labels]
    centres, count = hot.T @ known / hot.sum(axis=0)[:, None], len(asked)

    def plan() -> np.ndarray:
        costs = ot.dist(asked, centres, metric="cosine")
        return ot.emd(np.full(count, 1 / count), np.full(3, 1 / 3), costs) * count

    mask = plan()
    for _ in range(20):
        means = (mask.T @ asked + hot.T @ known) / (mask.sum(axis=0) + hot.sum(axis=0))[:, None]
        centres = centres + 0.2 * (means - centres)
        mask = plan()
    found = module.decode(backbone, support, labels, queries, 3)
    np.testing.assert_allclose(found.numpy(), mask, atol=1e-6)


@pytest.mark.parametrize("name", sorted({*NAMES} - {"random", "nearest_prototype"}))
def test_features_are_what_the_backbone_says_and_its_layers(name: str) -> None:
    """Of every learner of the kit, whether its model is the backbone, has one, or has several."""
    module = load_model(name, **TINY, folder=str(FOLDER / name))
    learner, images = module.MyLearner(), torch.rand(3, 3, 64, 64)
    found = learner.features(images)
    model = learner.model
    backbone = (
        model
        if hasattr(model, "network")
        else getattr(model, "backbones", [getattr(model, "backbone", None)])[0]
    )
    with torch.no_grad():
        torch.testing.assert_close(found["features"], backbone(images))
    assert len(found) > 3 and all(len(values) == 3 for values in found.values())
