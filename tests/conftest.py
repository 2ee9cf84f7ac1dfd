import hypothesis
import pytest

import merganser as mg

# The seed is printed by hypothesis on failure; `--hypothesis-seed` repeats it.
hypothesis.settings.register_profile("ci", deadline=None, max_examples=200, derandomize=False, print_blob=True)
hypothesis.settings.load_profile("ci")


@pytest.fixture(scope="session", params=["gpt2", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"])
def bundled(request):
    """Each bundled tokenizer."""
    return mg.load(request.param)


@pytest.fixture(scope="session")
def gpt2():
    return mg.load("gpt2")


@pytest.fixture(scope="session")
def cl100k():
    return mg.load("cl100k_base")


@pytest.fixture(scope="session")
def o200k():
    return mg.load("o200k_base")
