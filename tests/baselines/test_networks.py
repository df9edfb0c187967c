"""Backbones, weights and heads against what is known of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot, relu

from anyshot_starting_kit.networks import heads
from anyshot_starting_kit.networks.backbones import make_backbone, use_batch_statistics
from anyshot_starting_kit.networks.drop_block import DropBlock
from anyshot_starting_kit.networks.weights import MissingWeights, WrongWeights, no_weights

SmallTask = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


@pytest.fixture
def task() -> SmallTask:
    """Support, labels, query and query labels of three well separated classes in 20 dimensions."""
    draw = torch.Generator().manual_seed(0)
    centres = 3 * torch.randn(3, 20, generator=draw)
    labels, truth = torch.arange(3).repeat(4), torch.arange(3).repeat(10)
    support = centres[labels] + torch.randn(12, 20, generator=draw)
    return support, labels, centres[truth] + torch.randn(30, 20, generator=draw), truth


@pytest.mark.parametrize("name", ["conv4", "resnet12", "resnet18", "wrn16", "timm:resnet10t"])
def test_backbones_give_their_width(name: str) -> None:
    """A feature vector an image, whatever the name."""
    backbone = make_backbone(name, width=8, stem_pool=2).eval()
    with torch.no_grad():
        assert backbone(torch.rand(2, 3, 128, 128)).shape == (2, backbone.width)


def test_the_wide_network_is_that_of_its_paper() -> None:
    """WRN-16-10 with a classifier of ten classes has 17.1 million weights, WRN-16-8 11.0 (its Table 5 and 6)."""
    for width, millions in ((160, 17.1), (128, 11.0)):
        network = make_backbone("wrn16", width=width).network
        count = sum(weight.numel() for weight in network.parameters()) + 10 * (4 * width + 1)
        assert round(count / 1e6, 1) == millions
    small = make_backbone("wrn16", width=8).network
    maps = small.get_submodule("stages")(small.get_submodule("first")(torch.rand(1, 3, 32, 32)))
    assert maps.shape == (
        1,
        32,
        8,
        8,
    )  # the first stage has the image's size, the others half of the one before


def test_a_wide_block_adds_its_convolutions_to_a_shortcut_of_what_they_see() -> None:
    """Of other sizes that is a convolution of normed, rectified maps; of equal sizes the maps as they came (Fig. 1)."""
    maps, network = torch.randn(2, 8, 6, 6), make_backbone("wrn16", width=8).network
    for name, stride in (("stages.0.1", 1), ("stages.1.0", 2)):
        block = network.get_submodule(name).eval()
        norms = [block.get_submodule(f"norm{number}") for number in (1, 2)]
        convolutions = [block.get_submodule(f"conv{number}") for number in (1, 2)]
        shown = relu(norms[0](maps))
        passed = maps if stride == 1 else block.get_submodule("shortcut")(shown)
        expected = passed + convolutions[1](relu(norms[1](convolutions[0](shown))))
        torch.testing.assert_close(block(maps), expected)
        assert expected.shape[2:] == (6 // stride, 6 // stride) and convolutions[0].stride == (stride, stride)
    assert (network(torch.rand(2, 3, 32, 32)) >= 0).all()  # rectified before they are averaged


def test_drop_block_zeroes_squares_and_keeps_the_mean() -> None:
    """Of side five, about as many places as its rate says; nothing outside of training."""
    torch.manual_seed(0)
    drop, maps = DropBlock(0.1), torch.ones(20, 30, 20, 20)
    found = drop.train()(maps)
    zero = (found == 0).float()
    whole = torch.nn.functional.avg_pool2d(zero, 5, stride=1) > 0.999  # squares that are dropped as a whole
    covered = torch.nn.functional.max_pool2d(torch.nn.functional.pad(whole.float(), [4] * 4), 5, stride=1)
    assert torch.equal(covered, zero)
    assert 0.08 < zero.mean() < 0.11
    torch.testing.assert_close(found.mean(), maps.mean())
    assert drop.eval()(maps) is maps


def test_drop_block_is_in_the_last_two_blocks_of_a_resnet12() -> None:
    """Its weights keep their names; other networks refuse it."""
    plain, dropping = (make_backbone("resnet12", width=8, drop_block=rate) for rate in (0.0, 0.5))
    assert plain.state_dict().keys() == dropping.state_dict().keys()
    dropping.load_state_dict(plain.state_dict())
    images = torch.rand(2, 3, 32, 32)
    blocks = list(dropping.network.get_submodule("blocks").children())
    assert [any(isinstance(part, DropBlock) for part in block.modules()) for block in blocks] == [
        *[False] * 2,
        *[True] * 2,
    ]
    for block in blocks[2:]:  # behind the pooling, so that whole squares reach the next block
        assert isinstance(list(block.get_submodule("end").children())[-1], DropBlock)
    torch.testing.assert_close(dropping.eval()(images), plain.eval()(images))
    assert not torch.allclose(dropping.train()(images), dropping(images))
    with pytest.raises(ValueError, match=r"method\.drop_block is for the backbone resnet12"):
        make_backbone("conv4", drop_block=0.1)


def test_images_are_resized_to_the_size_that_settings_name() -> None:
    """Whatever their own: the network sees 48 pixels."""
    backbone, seen = make_backbone("conv4", width=4, image_size=48), []
    backbone.network.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape[2:]))
    backbone(torch.rand(2, 3, 32, 32))
    assert seen == [(48, 48)]


@pytest.mark.parametrize("stem_pool", [1, 2])
def test_several_sets_pass_as_one_batch(stem_pool: int) -> None:
    """Batch norm sees them together: the features are those of the joined images."""
    backbone = make_backbone("conv4", width=8, stem_pool=stem_pool)
    support, queries = torch.rand(3, 3, 32, 32), torch.rand(5, 3, 32, 32)
    together = backbone(support, queries)
    torch.testing.assert_close(together, backbone(torch.cat([support, queries])))
    assert not torch.allclose(together[:3], backbone(support))


def test_resnet18_is_that_of_timm(tmp_path: Path) -> None:
    """Weights saved by timm load, classifier left out, and give timm's features."""
    import timm

    theirs: Any = timm.create_model("resnet18", pretrained=False).eval()
    torch.save(theirs.state_dict(), tmp_path / "resnet18.pt")
    ours = make_backbone("resnet18", weights="resnet18.pt", submission=tmp_path).eval()
    images = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        wanted = theirs.forward_head(
            theirs.forward_features((images - ours.mean) / ours.deviation), pre_logits=True
        )
        torch.testing.assert_close(ours(images), wanted, rtol=1e-4, atol=1e-5)


def test_conv4_shrinks_normalises_and_pools_as_its_paper_has_it() -> None:
    """Pooling before the ReLU, and shrinking before the normalisation, change neither features nor weights' names."""
    backbone = make_backbone("conv4", width=8, stem_pool=4).eval()
    state, images = backbone.network.state_dict(), torch.rand(3, 3, 128, 128)
    maps = torch.nn.functional.avg_pool2d((images - backbone.mean) / backbone.deviation, 4)
    for block in range(4):
        mean, variance, scale, shift = (
            state[f"blocks.{block}.1.{name}"] for name in ("running_mean", "running_var", "weight", "bias")
        )
        maps = torch.nn.functional.conv2d(maps, state[f"blocks.{block}.0.weight"], padding=1)
        maps = torch.nn.functional.batch_norm(maps, mean, variance, scale, shift)
        maps = torch.nn.functional.max_pool2d(torch.relu(maps), 2)
    with torch.no_grad():
        torch.testing.assert_close(backbone(images), maps.mean(dim=(2, 3)), rtol=1e-4, atol=1e-5)


def test_weights_are_missing_or_wrong(tmp_path: Path) -> None:
    """Both errors say what was looked for."""
    with pytest.raises(MissingWeights, match=r"no pretrained weights here\.pt"):
        make_backbone("conv4", weights="here.pt", submission=tmp_path, mounted=tmp_path / "mounted")
    torch.save(make_backbone("conv4", width=8).network.state_dict(), tmp_path / "here.pt")
    with pytest.raises(WrongWeights, match="of another shape"):
        make_backbone("conv4", width=16, weights="here.pt", submission=tmp_path)
    mounted = make_backbone("conv4", width=8, weights="here.pt", submission=tmp_path / "x", mounted=tmp_path)
    assert mounted.width == 8


@pytest.mark.parametrize("name", ["mobilenetv3_small_050", "convnext_atto", "test_vit"])
def test_weights_of_timms_models_fit(name: str, tmp_path: Path) -> None:
    """Also of those whose features pass a norm or a layer of their head, and of those that take one size only."""
    import timm

    torch.save(timm.create_model(name, pretrained=False, num_classes=7).state_dict(), tmp_path / "w.pt")
    backbone = make_backbone(f"timm:{name}", weights="w.pt", submission=tmp_path).eval()
    with torch.no_grad():
        assert backbone(torch.rand(2, 3, 128, 128)).shape == (2, backbone.width)


@pytest.mark.parametrize("name", ["broken.pt", "broken.safetensors"])
def test_a_file_that_holds_no_weights_is_named(name: str, tmp_path: Path) -> None:
    """Without the advice to switch safety off that torch gives."""
    (tmp_path / name).write_bytes(b"not weights")
    with pytest.raises(WrongWeights, match=name) as found:
        make_backbone("conv4", weights=name, submission=tmp_path)
    assert "weights_only" not in str(found.value)


def test_weights_are_not_read_where_others_follow(tmp_path: Path) -> None:
    """A learner that is loaded for every task reads its own weights, and not the pretrained ones first."""
    (tmp_path / "w.pt").write_bytes(b"unreadable")
    with no_weights():
        make_backbone("conv4", width=8, weights="w.pt", submission=tmp_path)
    with pytest.raises(WrongWeights):
        make_backbone("conv4", width=8, weights="w.pt", submission=tmp_path)


def test_batch_statistics_have_no_state() -> None:
    """The same network in training and test mode gives the same features."""
    network = use_batch_statistics(make_backbone("conv4", width=8, stem_pool=4))
    images = torch.rand(6, 3, 128, 128)
    torch.testing.assert_close(network.train()(images), network.eval()(images))


def test_ridge_equals_its_primal(task: SmallTask) -> None:
    """The n x n system gives the weights of the d x d one."""
    support, labels, queries, _ = task
    primal = torch.linalg.solve(
        support.T @ support + 2.0 * torch.eye(20), support.T @ one_hot(labels, 3).float()
    )
    ours = heads.ridge_scores(support, labels, queries, 3, 2.0)
    torch.testing.assert_close(ours, queries @ primal, rtol=1e-3, atol=1e-4)


def test_svm_dual_is_optimal(task: SmallTask) -> None:
    """No feasible direction improves: its value equals what a general solver finds."""
    from scipy.optimize import minimize

    support, labels, queries, truth = (part.double() if part.is_floating_point() else part for part in task)
    gram, slack, targets = (support @ support.T).numpy(), 0.1, one_hot(labels, 3).double().numpy()

    def value(flat: np.ndarray) -> float:
        duals = flat.reshape(12, 3)
        return float(0.5 * np.sum(duals * (gram @ duals)) - np.sum(duals * targets))

    rows = [{"type": "eq", "fun": lambda flat, i=i: flat.reshape(12, 3)[i].sum()} for i in range(12)]
    bounds = [(None, slack * target) for target in targets.reshape(-1)]
    best = minimize(
        value, np.zeros(36), bounds=bounds, constraints=rows, method="SLSQP", options={"maxiter": 500}
    )
    identity = torch.eye(20, dtype=torch.float64)
    wanted = support.T.numpy() @ best.x.reshape(12, 3)
    weights = heads.svm_scores(support, labels, identity, 3, slack, tolerance=1e-7)
    np.testing.assert_allclose(weights.numpy(), wanted, atol=2e-3)
    np.testing.assert_allclose(
        heads.svm_scores(support, labels, identity, 3, slack).numpy(), wanted, atol=0.02
    )
    assert (heads.svm_scores(support, labels, queries, 3).argmax(dim=1) == truth).double().mean() > 0.9


@pytest.mark.seconds("large systems of equations")
@pytest.mark.parametrize("size", [0.1, 1.0, 30.0])
def test_svm_is_solved_for_large_tasks(size: float) -> None:
    """20 ways of 20 shots whose features share a large mean, as a ReLU's do: the gap to the primal is small."""
    draw = torch.Generator().manual_seed(0)
    labels = torch.arange(20).repeat(20)
    centres = torch.randn(20, 128, generator=draw)
    features = size * torch.relu(0.5 * centres[labels] + torch.randn(400, 128, generator=draw) + 0.5)
    weights = heads.svm_scores(features, labels, torch.eye(128), 20).double()
    scores, targets = features.double() @ weights, one_hot(labels, 20)
    losses = (scores + 1 - targets).amax(dim=1) - (scores * targets).sum(dim=1)
    primal = weights.square().sum() / 2 + 0.1 * losses.sum()
    better = heads.svm_scores(features, labels, torch.eye(128), 20, tolerance=1e-5).double()
    scores = features.double() @ better
    losses = (scores + 1 - targets).amax(dim=1) - (scores * targets).sum(dim=1)
    assert primal <= 1.002 * (better.square().sum() / 2 + 0.1 * losses.sum())


def test_svm_gradients_are_those_of_the_solution(task: SmallTask) -> None:
    """The backbone learns through the solver: a step along the gradient changes the loss as the gradient says."""
    support, labels, queries, truth = (part.double() if part.is_floating_point() else part for part in task)

    def loss(features: torch.Tensor) -> torch.Tensor:
        scores = heads.svm_scores(features, labels, queries, 3, tolerance=1e-9)
        return torch.nn.functional.cross_entropy(scores, truth)

    support.requires_grad_()
    (slope,) = torch.autograd.grad(loss(support), support)
    step = 1e-4 * slope / slope.norm()
    with torch.no_grad():
        found = (loss(support + step) - loss(support - step)) / 2e-4
    torch.testing.assert_close(found, slope.norm(), rtol=0.05, atol=0.0)


def test_logistic_regression_is_sklearns(task: SmallTask) -> None:
    """C is 1 / (n strength)."""
    from sklearn.linear_model import LogisticRegression

    support, labels, queries, _ = task
    weights, bias = heads.fit_logistic(support, labels, 3, 0.1, steps=200)
    theirs = LogisticRegression(C=1 / (12 * 0.1), tol=1e-8, max_iter=1000).fit(
        support.numpy(), labels.numpy()
    )
    ours = (queries @ weights + bias).softmax(dim=1).numpy()
    np.testing.assert_allclose(ours, theirs.predict_proba(queries.numpy()), atol=2e-3)


def test_matching_attention_is_a_distribution(task: SmallTask) -> None:
    """Rows are log probabilities, and the right class wins."""
    support, labels, queries, truth = task
    scores = heads.matching_attention(support, labels, queries, 3, 10.0)
    torch.testing.assert_close(scores.exp().sum(dim=1), torch.ones(30))
    assert (scores.argmax(dim=1) == truth).float().mean() > 0.9
    sure = torch.tensor(
        300.0, requires_grad=True
    )  # where the wrong classes' shares are below the smallest float32
    torch.nn.functional.nll_loss(
        heads.matching_attention(support, labels, queries, 3, sure), (truth + 1) % 3
    ).backward()
    assert sure.grad is not None and 0.1 < sure.grad < 10


def test_propagation_is_balanced_and_helps(task: SmallTask) -> None:
    """Each class gets its share of the query; a biased prototype is corrected by the query."""
    support, labels, queries, truth = task
    known, asked = heads.power_transform(support[:3], 1.0), heads.power_transform(queries, 1.0)
    plan = heads.propagate_labels(known, labels[:3], asked, 3)
    torch.testing.assert_close(plan.sum(dim=1), torch.ones(30))
    torch.testing.assert_close(plan.sum(dim=0), torch.full((3,), 10.0), atol=0.05, rtol=0)
    plain = heads.negative_squared_distances(asked, known).argmax(dim=1)
    right = (plan.argmax(dim=1) == truth).sum()
    assert right >= (plain == truth).sum() and right >= 27


@pytest.mark.parametrize("count", [30, 32, 7])
def test_the_exact_transport_is_that_of_another_program(count: int) -> None:
    """POT's, with uniform marginals; the ways need not divide the query."""
    ot = pytest.importorskip("ot")
    distances = torch.rand(count, 3, generator=torch.Generator().manual_seed(count), dtype=torch.float64)
    plan = heads.exact_assignment(distances)
    torch.testing.assert_close(plan.sum(dim=1), torch.ones(count, dtype=torch.float64))
    torch.testing.assert_close(plan.sum(dim=0), torch.full((3,), count / 3, dtype=torch.float64))
    best = ot.emd2(np.full(count, 1 / count), np.full(3, 1 / 3), distances.numpy())
    assert (plan * distances).sum().item() / count == pytest.approx(best, abs=1e-9)


def test_layout_and_precision_change_rounding_only() -> None:
    """Channels last gives the same features; bfloat16 nearly the same, as float32, and learns by the same gradients."""
    images = torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(0))

    def features(precision: str, layout: torch.memory_format) -> torch.Tensor:
        torch.manual_seed(1)
        backbone = make_backbone("conv4", width=8, precision=precision)
        backbone.lay_out(layout)
        return backbone.eval()(images)

    plain = features("float32", torch.contiguous_format)
    torch.testing.assert_close(features("float32", torch.channels_last), plain)
    half = features("bfloat16", torch.channels_last)
    assert half.dtype == torch.float32 and not torch.equal(half, plain)
    torch.testing.assert_close(half, plain, atol=0.02, rtol=0.05)
    with pytest.raises(ValueError, match=r"method\.precision is 'float8'"):
        make_backbone("conv4", precision="float8")


def test_a_compiled_backbone_is_the_same_and_compiles_for_training_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traced: list[str] = []

    def backend(graph: torch.fx.GraphModule, _: list[torch.Tensor]) -> Callable[..., Any]:
        traced.append("graph")
        return graph.forward

    compile_with = torch.nn.Module.compile

    def compile_it(module: torch.nn.Module, mode: str) -> None:  # a graph, and none of its minutes of C++
        traced.append(mode)
        compile_with(module, backend=backend)

    monkeypatch.setattr(torch.nn.Module, "compile", compile_it)
    images = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(1)
    plain = make_backbone("conv4", width=8)
    ours = make_backbone("conv4", width=8, compiled="reduce-overhead")
    ours.load_state_dict(plain.state_dict())
    torch.testing.assert_close(ours.eval()(images), plain.eval()(images))
    assert traced == ["reduce-overhead"]
    torch.testing.assert_close(ours.train()(images), plain.train()(images))
    assert traced == ["reduce-overhead", "graph"]
    with pytest.raises(ValueError, match=r"method\.compiled is 'quick'; there are default, reduce-overhead"):
        make_backbone("conv4", compiled="quick")
