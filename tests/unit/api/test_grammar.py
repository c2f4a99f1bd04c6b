"""From types to states: each rule of the subset construction, and the minimal list of states."""

from __future__ import annotations

from typing import Any

import pytest

from esproxy.api.grammar import OPAQUE_STATE, SCALAR_STATE, Builder, GrammarError, State
from esproxy.api.kinds import Kind
from esproxy.api.minimise import minimise
from esproxy.api.schema import ANY, SCALAR, Dict, Items, Leaf, Ref, Root, Schema, Term, TypeDef, Union, Var

FIELD, INDEX, EXPR, ID = (Leaf(k) for k in (Kind.FIELD, Kind.INDEX, Kind.EXPR, Kind.ID))


def builder(**types: Any) -> Builder:
    """Types by name: a dict of properties, a TypeDef, or a term for an alias."""
    schema = Schema()
    for name, type_ in types.items():
        if isinstance(type_, dict):
            type_ = TypeDef(name, properties=type_)
        elif not isinstance(type_, TypeDef):
            type_ = TypeDef(name, alias=type_)
        schema.types[name] = type_
    return Builder(schema, {"Name": Kind.INDEX}, frozenset({"Id"}))


def state(made: Builder, term: Term, *, answer: bool = False) -> State:
    number = made.root(term, answer=answer, path="body")
    return made.states[number]


def test_scalar_and_any_have_the_fixed_states() -> None:
    made = builder(A={"a": SCALAR, "b": ANY})
    assert state(made, Ref("A")).keys == {"a": SCALAR_STATE, "b": OPAQUE_STATE}


def test_label_ends_the_resolution() -> None:
    made = builder(Name=SCALAR, A={"a": Ref("Name")})
    assert made.states[state(made, Ref("A")).keys["a"]].kind is Kind.INDEX


def test_undecided_type_names_the_property_at_fault() -> None:
    made = builder(Id=SCALAR, A={"a": Ref("Id")})
    state(made, Ref("A"))
    assert made.errors == ["body.a (A, a): Id needs a verdict"]


def test_missing_type_is_an_error() -> None:
    made = builder(A={"a": Ref("Nowhere")})
    state(made, Ref("A"))
    assert made.errors == ["body.a (A, a): no such type: Nowhere"]


def test_union_of_objects_merges_keys_and_targets() -> None:
    made = builder(A={"x": Ref("C"), "a": SCALAR}, B={"x": Ref("D")}, C={"c": FIELD}, D={"d": ID})
    both = state(made, Union((Ref("A"), Ref("B"))))
    assert set(both.keys) == {"x", "a"}
    assert set(made.states[both.keys["x"]].keys) == {"c", "d"}


def test_known_key_also_takes_what_another_member_takes_under_any_key() -> None:
    made = builder(A={"x": Ref("C")}, C={"c": SCALAR}, D={"d": SCALAR})
    both = state(made, Union((Ref("A"), Dict(SCALAR, Ref("D")))))
    assert set(made.states[both.keys["x"]].keys) == {"c", "d"}
    assert both.other == (Kind.COPY, both.other[1])


def test_sole_type_keeps_its_keys_to_itself() -> None:
    made = builder(A=TypeDef("A", properties={"x": Ref("C")}, sole=True), C={"c": SCALAR}, D={"d": SCALAR})
    both = state(made, Union((Ref("A"), Dict(SCALAR, Ref("D")))))
    assert set(made.states[both.keys["x"]].keys) == {"c"}


def test_two_kinds_at_one_position_are_an_error() -> None:
    made = builder(A={"a": Union((FIELD, ID))})
    state(made, Ref("A"))
    assert made.errors == ["body.a: is FIELD and ID at once"]


def test_name_or_expression_is_an_expression() -> None:
    assert state(builder(), Union((INDEX, EXPR))).kind is Kind.EXPR


def test_kind_hidden_under_any_json_is_an_error() -> None:
    made = builder(A={"a": Union((ANY, Ref("B")))}, B={"b": FIELD})
    state(made, Ref("A"))
    assert made.errors == ["body.a: is OPAQUE and yet an object that holds names"]


def test_harmless_object_is_swallowed_by_any_json() -> None:
    made = builder(B={"b": SCALAR, "c": Ref("B")})
    assert state(made, Union((ANY, Ref("B")))).keys is None
    assert made.errors == []


def test_empty_interface_allows_an_empty_object() -> None:
    assert state(builder(A={}), Ref("A")).keys == {}


def test_shortcut_is_a_bare_value() -> None:
    made = builder(A=TypeDef("A", properties={"field": FIELD}, shortcut="field"))
    assert state(made, Ref("A")).kind is Kind.FIELD


def test_recursive_alias_ends() -> None:
    made = builder(A=Union((SCALAR, Dict(SCALAR, Ref("A")))))
    found = state(made, Ref("A"))
    assert made.states[found.other[1]] is found


def test_alias_with_arguments_is_filled_in() -> None:
    made = builder(A=TypeDef("A", generics=("T",), alias=Dict(SCALAR, Var("T"))))
    assert made.states[state(made, Ref("A", (FIELD,))).other[1]].kind is Kind.FIELD


def test_unfilled_variable_is_a_document() -> None:
    assert state(builder(), Var("TDocument")).kind is Kind.DOC


def test_root_is_a_query_that_is_walked() -> None:
    made = builder(Q={"term": SCALAR}, A={"query": Root(Ref("Q")), "other": Ref("Q")})
    found = state(made, Ref("A"))
    assert made.states[found.keys["query"]].kind is Kind.QUERY
    assert made.states[found.keys["query"]].keys == made.states[found.keys["other"]].keys
    assert made.states[found.keys["other"]].kind is Kind.COPY


def test_items_of_a_list_have_a_state_of_their_own() -> None:
    made = builder(Q={"term": SCALAR})
    found = state(made, Union((Dict(SCALAR, Ref("Q")), Items(Ref("Q")))))
    assert found.keys is None
    assert set(made.states[found.items].keys) == {"term"}


def test_request_refuses_and_answer_counts_other_keys() -> None:
    made = builder(A={"a": SCALAR})
    assert state(made, Ref("A")).other is None
    assert state(made, Ref("A"), answer=True).other == (Kind.UNKNOWN, OPAQUE_STATE)


def test_marks_and_ensured_keys_are_a_request_s() -> None:
    made = builder(A=TypeDef("A", properties={"q": SCALAR, "k": SCALAR}, mark="AGGS", ensure=("q",), unless=("k",)))
    request, answer = state(made, Ref("A")), state(made, Ref("A"), answer=True)
    assert (request.mark, request.ensure, request.unless) == ("AGGS", ("q",), ("k",))
    assert (answer.mark, answer.ensure, answer.unless) == (None, (), ())


def test_two_marks_at_one_position_are_an_error() -> None:
    made = builder(A=TypeDef("A", mark="AGGS"), B=TypeDef("B", mark="SUGGEST"))
    state(made, Union((Ref("A"), Ref("B"))))
    assert made.errors == ["body: has the marks ['AGGS', 'SUGGEST']"]


def tagged() -> Builder:
    return builder(
        U=TypeDef("U", alias=Union((Ref("A"), Ref("B"))), tagged=True, untagged=Ref("X")),
        A=TypeDef("A", properties={"a": FIELD}, tag="at"),
        B=TypeDef("B", properties={"b": SCALAR}, tag="bt"),
        X=TypeDef("X", properties={"x": SCALAR}),
    )


def test_tag_picks_the_state_in_answers() -> None:
    made = tagged()
    found = state(made, Dict(SCALAR, Ref("U")), answer=True)
    assert found.other[0] is Kind.TAGGED
    assert {tag: set(made.states[n].keys) for tag, n in found.tags.items()} == {"at": {"a"}, "bt": {"b"}}
    assert set(made.states[found.other[1]].keys) == {"x"}


def test_known_key_beside_tags_is_not_tagged() -> None:
    made = tagged()
    made.schema.types["C"] = TypeDef("C", properties={"doc_count": SCALAR}, other=Dict(SCALAR, Ref("U")))
    made.schema.types["D"] = TypeDef("D", properties={"x": Ref("X")}, other=Dict(SCALAR, Ref("U")))
    found = state(made, Union((Ref("C"), Ref("D"))), answer=True)
    assert made.states[found.keys["doc_count"]].keys is None


def test_member_of_a_tagged_union_without_a_tag_is_an_error() -> None:
    made = tagged()
    made.schema.types["A"].tag = None
    state(made, Dict(SCALAR, Ref("U")), answer=True)
    assert made.errors[0] == "A: a member of U without a tag"


def test_what_a_property_was_found_to_be_is_noted() -> None:
    made = builder(A={"a": INDEX, "b": Dict(FIELD, SCALAR), "c": SCALAR, "d": Root(Ref("Q"))}, Q={"t": ID})
    state(made, Ref("A"))
    assert made.named == {"A.a": "INDEX", "A.b": "keys FIELD", "A.d": "QUERY", "Q.t": "ID"}


def test_kind_of_a_parameter() -> None:
    made = builder(Id=SCALAR)
    assert made.kind(Union((SCALAR, FIELD))) is Kind.FIELD
    with pytest.raises(GrammarError, match="Id needs a verdict"):
        made.kind(Ref("Id"))


# --- minimisation -----------------------------------------------------------------------------------------


def test_equal_states_become_one_and_order_is_breadth_first() -> None:
    states = [State(Kind.OPAQUE), State(), State(keys={"b": 3, "a": 4}), State(Kind.ID), State(Kind.ID), State(Kind.FIELD)]
    small, roots = minimise(states, [2])
    assert roots == [2]
    assert [s.kind for s in small] == [Kind.OPAQUE, Kind.COPY, Kind.COPY, Kind.ID]
    assert small[2].keys == {"b": 3, "a": 3}


def test_loops_that_read_the_same_are_one() -> None:
    states = [State(Kind.OPAQUE), State(), State(keys={"a": 3}), State(keys={"a": 2})]
    small, roots = minimise(states, [2, 3])
    assert roots == [2, 2]
    assert small[2].keys == {"a": 2}


def test_states_that_differ_far_below_stay_apart() -> None:
    states = [
        State(Kind.OPAQUE),
        State(),
        State(keys={"a": 4}),
        State(keys={"a": 5}),
        State(keys={"b": 6}),
        State(keys={"b": 1}),
        State(Kind.ID),
    ]
    small, roots = minimise(states, [2, 3])
    assert roots[0] != roots[1]
    assert len(small) == 7


@pytest.mark.parametrize(
    "change", [{"mark": "AGGS"}, {"ensure": ("a",)}, {"unless": ("a",)}, {"reason": "x"}, {"tags": {"t": 1}}, {"items": 1}]
)
def test_whatever_a_state_says_keeps_it_apart(change: dict[str, Any]) -> None:
    states = [State(Kind.OPAQUE), State(), State(keys={"a": 1}), State(keys={"a": 1}, **change)]
    assert len(minimise(states, [2, 3])[0]) == 4
