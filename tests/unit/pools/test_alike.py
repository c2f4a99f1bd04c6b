"""A name for a field in several pools: nobody can make it, and it is not given to what no alias stands for."""

from __future__ import annotations

from typing import Any

import pytest

from esproxy.catalogue.documents import Field
from esproxy.catalogue.fields import alike, own_name, restored, unheld
from esproxy.pools.alike import _can_be_alias
from esproxy.tenancy.fieldnames import FieldNames
from esproxy.tenancy.target import Target

FIELDS = {
    "k": {"type": "keyword", "fields": {"raw": {"type": "text"}, "deep": {"type": "flattened"}}},
    "o": {"type": "object"},
    "o.p": {"type": "long"},
    "n": {"type": "nested"},
    "n.o": {"type": "object"},
    "n.o.p": {"type": "long"},
    "f": {"type": "flattened"},
    "a": {"type": "alias", "path": "k"},
}


@pytest.mark.parametrize(
    ("path", "can"),
    [
        ("k", True), ("k.raw", True), ("k.deep", False), ("k.deep.x", False), ("o", False), ("o.p", True), ("n", False),
        ("n.o.p", False), ("f", False), ("f.key", False), ("a", False),
    ],
)  # fmt: skip
def test_field_can_be_alias_if_it_is_a_leaf_of_the_document_itself(path: str, can: bool) -> None:
    fields = {name: Field(definition, name) for name, definition in FIELDS.items()}
    assert _can_be_alias(path, fields) is can


def test_alike_is_of_tenant_path_and_variant_and_nobodys_field() -> None:
    made = [alike(*of) for of in (("acme", "o.x", 0), ("zenith", "o.x", 0), ("acme", "x", 0), ("acme", "o.x", 1))]
    assert len(set(made)) == 4
    for name in made:
        assert "." not in name
        assert own_name(name) != name  # a client's own field of that name is called otherwise
        assert unheld(name) != name
        assert restored(name) != name


def test_names_alike_go_before_those_of_each_pool() -> None:
    sent: dict[str, Any] = {}
    names = FieldNames(list[Target](), sent)
    names.any = True
    names.alike = {"x": "x~1~000"}
    assert names.physical("x^2") == "x~1~000^2"
    assert names.asked == {"x"}
    assert sent == {"x~1~000": "x"}
