"""The types of new fields against real nodes: document after document, the fields that we name and those that a node maps.

Each case is an index with a mapping of its own and documents in order. The node's index maps by itself; its twin gets what
``new_fields`` says as an explicit mapping. After every document both must show the same mapping, or both must have refused the
document for the same reason. A node also refuses documents for the values in them, which we leave to it: ``VALUES`` are its
words for that.
"""

from __future__ import annotations

import json
import random
import re
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from esproxy.catalogue.dates import DETECTED, date_format
from esproxy.catalogue.documents import Field
from esproxy.catalogue.dynamic_rules import RUNTIME, number_kind, numbers
from esproxy.catalogue.fields import first_fields, flatten
from esproxy.catalogue.inference import new_fields, read
from esproxy.embedded import Engine
from esproxy.errors import EsproxyError
from tests.integration import inference_cases as cases
from tests.integration import inference_texts as given

# Why a node refuses a document and we do not: a value that its field does not take, an object where a leaf is known.
VALUES = re.compile(
    r"failed to parse field|as object, but found a concrete value|Cannot write to a field alias|Could not dynamically add mapping"
    r"|dense_vector|vectors with zero magnitude|Cannot parse object|Failed to parse object|is a metadata field"
    r"|failed to parse date|cannot be cast|out of range|Unsupported type|Can't get text|Cannot copy field|expecting token of type"
    r"|with content token \[VALUE_NULL\]|Cannot update parameter \[dims\]|The number of dimensions should be in the range"
)
CLASH = re.compile(r"mapper \[.*\] cannot be changed from type")
OBJECT = re.compile(r"mapper \[(.*)\] cannot be changed from type \[\w+\] to \[ObjectMapper\]")


class Pair:
    """A node's index and its twin."""

    def __init__(self, client: httpx.Client, engine: Engine, mapping: dict[str, Any], settings: dict[str, Any]) -> None:
        self.client, self.engine, self.mapping, self.settings = client, engine, mapping, settings
        self.name = f"infer-{uuid.uuid4().hex[:10]}"
        self.twin = f"{self.name}-twin"
        small = {"index.number_of_shards": 1, "index.number_of_replicas": 0}
        self.call("PUT", f"/{self.name}", {"mappings": mapping, "settings": small | settings})
        # The twin is filled by explicit mappings only.
        fixed = {"dynamic": False} | {key: mapping[key] for key in ("properties", "runtime", "subobjects") if key in mapping}
        self.call("PUT", f"/{self.twin}", {"mappings": fixed, "settings": small | settings})
        self.known: dict[str, Field] = first_fields(mapping.get("properties", {}))

    def call(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.client.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def close(self) -> None:
        self.client.delete(f"/{self.name}").raise_for_status()
        self.client.delete(f"/{self.twin}").raise_for_status()

    def index(self, document: dict[str, Any]) -> dict[str, Any] | None:
        """The node's error, None when it took the document."""
        answer = self.client.post(
            f"/{self.name}/_doc", content=json.dumps(document), headers={"content-type": "application/json"}
        )
        return None if answer.is_success else answer.json()["error"]

    def infer(self, document: dict[str, Any]) -> dict[str, Any]:
        return new_fields(
            read(json.dumps(document).encode()), self.mapping, self.known, self.engine.family, self.engine.version, self.settings
        )

    def add(self, new: dict[str, Any]) -> None:
        self.known |= {path: Field(definition, path) for path, definition in new.items()}
        runtime = {path: {k: v for k, v in d.items() if k != RUNTIME} for path, d in new.items() if RUNTIME in d}
        properties = self.tree({path: definition for path, definition in new.items() if RUNTIME not in definition})
        if new:
            root = {"subobjects": self.mapping["subobjects"]} if "subobjects" in self.mapping else {}
            root |= {"runtime": runtime} if runtime else {}
            self.call("PUT", f"/{self.twin}/_mapping", {"properties": properties} | root)

    def tree(self, new: dict[str, Any]) -> dict[str, Any]:
        """Properties of new paths, in the objects that are there; where subobjects are off, names keep their dots."""
        properties: dict[str, Any] = {}
        for path, definition in new.items():
            at, name = properties, ""
            *parents, leaf = path.split(".")
            inside = self.mapping.get("subobjects", True)
            below = ""
            for parent in parents:
                below = f"{below}.{parent}" if below else parent
                name = f"{name}.{parent}" if name else parent
                if not inside:
                    continue
                held = self.known[below].type
                at = at.setdefault(name, {k: v for k, v in held.items() if held["type"] == "nested" or k == "subobjects"})
                at = at.setdefault("properties", {})
                name, inside = "", held.get("subobjects", True)
            leaf = f"{name}.{leaf}" if name else leaf
            at.setdefault(leaf, {}).update(definition)
        return properties

    def shown(self, index: str) -> dict[str, Any]:
        mapping = self.call("GET", f"/{index}/_mapping")[index]["mappings"]
        runtime = {path: definition | {RUNTIME: True} for path, definition in mapping.get("runtime", {}).items()}
        return flatten(mapping.get("properties", {})) | runtime


@pytest.fixture(scope="module")
def client(node_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=node_url, timeout=60) as client:
        yield client


def compare(client: httpx.Client, engine: Engine, case: cases.Case) -> Counter[str]:
    """Run a case; counts what became of its documents."""
    outcome: Counter[str] = Counter()
    pair = Pair(client, engine, case.mapping, case.settings)
    try:
        for document in case.documents:
            told = f"{case.mapping} {case.settings} {str(document)[:300]}"
            try:
                new: dict[str, Any] | None = pair.infer(document)
                ours = None
            except EsproxyError as refused:
                new, ours = None, refused.cause()
            error = pair.index(document)
            if error is None:
                assert new is not None, f"{told}: refused by us alone: {ours}"
                pair.add(new)
                outcome["mapped" if new else "nothing new"] += 1
            elif ours is None:
                assert VALUES.search(str(error)), f"{told}: refused by the node alone: {error}"
                outcome["refused for its values"] += 1
                if pair.shown(pair.twin) != pair.shown(pair.name):  # a node may keep the fields of a document that it refuses
                    pair.add(new or {})
            else:
                # Of several fields of two minds, Elasticsearch 8 tells any one.
                several = len(document) > 1 and CLASH.search(ours["reason"]) and CLASH.search(error["reason"])
                same = words(ours) == words(error) or several
                assert same or VALUES.search(str(error)), f"{told}: {error} for us is {ours}"
                outcome["refused" if same else "refused for its values first"] += 1
            assert pair.shown(pair.twin) == pair.shown(pair.name), told
    finally:
        pair.close()
    return outcome


def words(error: dict[str, Any]) -> tuple[str, str, str | None]:
    """Type and reason, and the cause's; without the place in the body that Elasticsearch puts in front. Where a field of one
    document is a leaf and an object, Elasticsearch 8 tells one of two reasons by the order in which a hash map has both."""
    cause = error.get("caused_by", {})
    reason = re.sub(r"^\[\d+:\d+\] ", "", error["reason"])
    reason = OBJECT.sub(r"can't merge a non object mapping [\1] with an object mapping", reason)
    return error["type"], reason, cause.get("reason")


@pytest.mark.parametrize("name", cases.NAMES)
def test_inference_of_a_case_is_the_nodes(client: httpx.Client, engine: Engine, name: str) -> None:
    case = cases.case(name, engine.family)
    if case is None or (name in cases.SINCE_3 and engine.version.startswith("2.")):
        pytest.skip(f"not a case of {engine.title}")
    outcome = compare(client, engine, case)
    assert outcome.total() == len(case.documents)


@pytest.mark.parametrize("seed", range(12))
def test_inference_of_generated_documents_is_the_nodes(client: httpx.Client, engine: Engine, seed: int) -> None:
    case = cases.generated(random.Random(f"{engine.family} {seed}"), engine.family)
    outcome = compare(client, engine, case)
    assert outcome["mapped"] > 0 or "strict" in str(case.mapping) or "false" in str(case.mapping).lower()


@pytest.mark.parametrize("form", [None, *given.DATE_FORMATS])
def test_date_detection_of_a_format_is_the_nodes(client: httpx.Client, engine: Engine, form: str | None) -> None:
    """Every text of the table, in a document of one field each; a text that is taken for a date need not be one."""
    formats = DETECTED if form is None else (form,)
    texts = given.DATES
    settings = {"index.mapping.ignore_malformed": True, "index.mapping.total_fields.limit": 5000}
    pair = Pair(client, engine, {} if form is None else {"dynamic_date_formats": [form]}, settings)
    try:
        assert pair.index({f"f{number}": text for number, text in enumerate(texts)}) is None
        shown = pair.shown(pair.name)
    finally:
        pair.close()
    node, ours = {}, {}
    for number, text in enumerate(texts):
        definition = shown[f"f{number}"]
        node[text] = definition.get("format", DETECTED[0]) if definition["type"] == "date" else None
        tried = (date_format(form, engine.family, numbers(engine.version)) for form in formats)
        ours[text] = next((form.text for form in tried if number_kind(text) is None and form.matches(text)), None)
    assert {t: (ours[t], node[t]) for t in texts if ours[t] != node[t]} == {}


def test_number_detection_is_the_nodes(client: httpx.Client, engine: Engine) -> None:
    settings = {"index.mapping.ignore_malformed": True}
    pair = Pair(client, engine, {"numeric_detection": True, "date_detection": False}, settings)
    try:
        assert pair.index({f"f{number}": text for number, text in enumerate(given.NUMBERS)}) is None
        shown = pair.shown(pair.name)
    finally:
        pair.close()
    kinds = {"long": "long", "float": "double", "text": None}
    node = {text: kinds[shown[f"f{number}"]["type"]] for number, text in enumerate(given.NUMBERS)}
    assert {text: number_kind(text) for text in given.NUMBERS} == node
