import pytest

from esproxy.tenancy.text import restore_text

SPELLED = {"acme.logs": "logs", "acme.lo*": "lo*", "acme.a,acme.b": "a,b", "acme.*": "_all"}


@pytest.mark.parametrize(
    ("text", "restored"),
    [
        ("no such index [acme.logs]", "no such index [logs]"),
        ("no such index [acme.lo*]", "no such index [lo*]"),
        ("no such index [-acme.x]", "no such index [-x]"),
        ("[acme.a,acme.b] is no single name", "[a,b] is no single name"),
        ("request [/acme.logs/_search] contains", "request [/logs/_search] contains"),
        ("index [acme.other/UUID] already exists", "index [other/UUID] already exists"),
        ("[acme.other/kezY3wG_T6eItICYNl-PHA] QueryShardException[x]", "[other/kezY3wG_T6eItICYNl-PHA] QueryShardException[x]"),
        ("[acme.other][0] shard failed", "[other][0] shard failed"),
        ("no such index [acme.*]", "no such index [_all]"),
        ("multiple legacy templates [acme.high, acme.low], composable", "multiple legacy templates [high, low], composable"),
        ("nothing here", "nothing here"),
    ],
)
def test_restore_text_names_where_nodes_quote_them(text, restored):
    assert restore_text(text, "acme.", SPELLED) == restored


@pytest.mark.parametrize(
    "text", ["No mapping found for [acme.price] in order to sort on", "field acme.price is text", "xacme.logs", "x.acme.logs"]
)
def test_restore_text_leaves_what_is_no_name(text):
    assert restore_text(text, "acme.", SPELLED) == text
