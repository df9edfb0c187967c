"""A submission that tries to download gets the sentence that says what to do instead, whichever library it uses."""

import importlib.util

import pytest

from anyshot_core.wire.advice import NO_NETWORK
from tests.core.conftest import HONEST, Runs

DOWNLOADS = {
    "urllib": "import urllib.request; urllib.request.urlopen('https://example.org/resnet18.pt')",
    "requests": "import requests; requests.get('https://example.org/resnet18.pt')",
    "httpx": "import httpx; httpx.get('https://example.org/resnet18.pt')",
    "torch": "torch.hub.load_state_dict_from_url('https://example.org/resnet18.pt')",
    "torchvision": "import torchvision; torchvision.models.resnet18(weights='DEFAULT')",
    "timm": "import timm; timm.create_model('resnet18', pretrained=True)",
    "huggingface_hub": "import huggingface_hub as h; h.hf_hub_download('timm/resnet18.a1_in1k', 'model.safetensors')",
}


@pytest.mark.seconds("waits for time limits of the runner", each_time=True)
@pytest.mark.parametrize("library", DOWNLOADS)
def test_what_tries_to_download_is_told_what_to_do(library: str, runs: Runs) -> None:
    pytest.importorskip(library)
    assert importlib.util.find_spec(library) is not None
    call = f"{DOWNLOADS[library]}\n        return MyLearner()"
    outcome = runs.run(HONEST.replace("return MyLearner()", call, 1))
    assert outcome.failure is not None
    told = " ".join(f"{outcome.failure.message} {outcome.failure.detail}".split())
    assert NO_NETWORK in told, told


PLACES = {
    "import": ("class MyMetaLearner(MetaLearner):", "{}\n\n\nclass MyMetaLearner(MetaLearner):"),
    "fit": ("        means = ", "        {}\n        means = "),
    "predict": ("        return -(query_set", "        {}\n        return -(query_set"),
}


@pytest.mark.rotating(2)
@pytest.mark.seconds("a process of its own for each library")
@pytest.mark.parametrize("library", DOWNLOADS)
@pytest.mark.parametrize("place", PLACES)
def test_it_is_told_wherever_it_tries(place: str, library: str, runs: Runs) -> None:
    """At the import too, and in `fit` and `predict`, of whose messages nothing else may be shown."""
    pytest.importorskip(library)
    line, changed = PLACES[place]
    assert HONEST.count(line) == 1
    outcome = runs.run(HONEST.replace(line, changed.format(DOWNLOADS[library])))
    assert outcome.failure is not None
    assert outcome.failure.message.endswith(f". {NO_NETWORK}"), outcome.failure
    assert "example.org" not in outcome.failure.message


@pytest.mark.seconds("a process of its own for each library")
def test_another_failure_is_not_told_of_the_network(runs: Runs) -> None:
    outcome = runs.run(HONEST.replace("return MyLearner()", "raise OSError('full')", 1))
    assert outcome.failure is not None
    assert "network" not in f"{outcome.failure.message} {outcome.failure.detail}"
