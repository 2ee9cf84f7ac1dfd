import hashlib
from pathlib import Path

import pytest
from oracle import encoding, pinned_sha256, public_file

from merganser import FormatError, vocabularies

FOLDER = Path(vocabularies.__file__).parent
every_name = pytest.mark.parametrize("name", vocabularies.NAMES)


@pytest.mark.parametrize("address", pinned_sha256())
def test_tables_give_back_the_public_files_byte_for_byte(address):
    contents = public_file(address.rpartition("/")[2])
    assert hashlib.sha256(contents).hexdigest() == pinned_sha256()[address]


@every_name
def test_tokens_and_ranks_are_tiktokens(name):
    vocabulary = vocabularies.read(name).model.vocabulary
    assert {token: id for id, token in vocabulary.items()} == encoding(name)._mergeable_ranks


@every_name
def test_special_tokens_are_tiktokens(name):
    assert vocabularies.read(name).special_tokens == encoding(name)._special_tokens


@every_name
def test_highest_id_is_tiktokens(name):
    spec = vocabularies.read(name)
    ids = [id for id, _ in spec.model.vocabulary.items()] + list(spec.special_tokens.values())
    assert max(ids) + 1 == encoding(name).n_vocab == encoding(name).max_token_value + 1


@every_name
def test_pattern_is_tiktokens_and_drops_what_it_does_not_match(name):
    (split,) = vocabularies.read(name).splits
    assert (split.pattern, split.dialect, split.unmatched) == (encoding(name)._pat_str, "rust", "drop")


@every_name
def test_special_tokens_that_share_an_id_come_in_the_order_in_which_it_decodes(name):
    first = {}
    for token in vocabularies.read(name).added_tokens:
        first.setdefault(token.id, token.content)
    assert first == {id: encoding(name).decode([id]) for id in first}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cl100k", "did you mean `cl100k_base`?"),
        ("O200K_BASE", "did you mean `o200k_base`?"),
        ("harmony", "did you mean `o200k_harmony`?"),
        ("gpt-2", "that model's encoding is `gpt2`"),
        ("gpt-4o-mini", "that model's encoding is `o200k_base`"),
    ],
)
def test_an_unknown_name_is_an_error_with_a_hint(name, hint):
    with pytest.raises(FormatError) as error:
        vocabularies.read(name)
    assert str(error.value) == (
        "expected a bundled vocabulary "
        f"(gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base, o200k_base, o200k_harmony), found `{name}`"
    )
    assert error.value.hint == hint


@pytest.mark.parametrize("table", sorted(FOLDER.glob("*.tokens")), ids=lambda table: table.name)
def test_sources_names_each_table_with_its_sha256(table):
    row = f"| `{table.name}` | {table.stat().st_size:,} | `{hashlib.sha256(table.read_bytes()).hexdigest()}` |"
    assert row in (FOLDER / "SOURCES.md").read_text(encoding="utf-8")
