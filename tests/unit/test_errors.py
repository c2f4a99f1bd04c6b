"""The root that an error tells, as nodes find it: Elasticsearch's ``guessRootCauses``, looked at on running nodes."""

import pytest

from esproxy.errors import Refusal

PARSER, OWN, JAVA = "x_content_parse_exception", "parsing_exception", "illegal_argument_exception"


@pytest.mark.parametrize(
    ("types", "root"),
    [
        ([OWN], OWN),
        ([PARSER, PARSER], PARSER),
        ([PARSER, OWN], OWN),
        ([PARSER, PARSER, OWN, JAVA], OWN),
        ([PARSER, JAVA], PARSER),
        ([OWN, PARSER], OWN),
        ([OWN, JAVA], OWN),
        ([JAVA, OWN], JAVA),
        ([PARSER, "named_object_not_found_exception"], "named_object_not_found_exception"),
    ],
)
def test_root_of_an_error_is_the_innermost_that_a_node_looks_behind(types, root):
    cause = None
    for place, type in reversed(list(enumerate(types))):
        cause = {"type": type, "reason": str(place), **({"caused_by": cause} if cause else {})}
    outer = dict(cause)
    refusal = Refusal(outer.pop("reason"), **outer)
    at = max(place for place, type in enumerate(types) if type == root) if types != [PARSER, PARSER] else 1
    (told,) = refusal.payload()["error"]["root_cause"]
    assert told == {"type": root, "reason": str(at)}
