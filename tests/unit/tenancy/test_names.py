import pytest

from esproxy.errors import Refusal
from esproxy.tenancy.names import PrefixNames, legal_tenant

NAMES = PrefixNames("acme.")


@pytest.mark.parametrize(
    ("text", "physical"),
    [
        ("logs", "acme.logs"),
        ("a,b", "acme.a,acme.b"),
        ("a,b,", "acme.a,acme.b"),
        ("*", "acme.*"),
        ("_all", "acme.*"),
        (",", "acme.*"),
        ("l*,-lo*", "acme.l*,-acme.lo*"),
        ("<logs-{now/d}>", "<acme.logs-{now/d}>"),
        ("-<l-{now}>,*", "-<acme.l-{now}>,acme.*"),
        (".kib*", "acme..kib*"),
        ("**", "acme.**"),
        ("a::data", "acme.a::data"),
        ("-a*", "acme.*,-acme.*"),
        ("victim.logs", "acme.victim.logs"),
        ("acme.logs", "acme.acme.logs"),
        ("a%2C*", "acme.a%2C*"),
    ],
)
def test_expression_gets_the_prefix_on_every_term(text, physical):
    spelled = {}
    assert NAMES.expression(text, spelled, product=True) == physical
    assert all(term.lstrip("-<").startswith("acme.") for term in physical.split(","))


@pytest.mark.parametrize(
    ("text", "type_", "product"),
    [
        ("_foo", "invalid_index_name_exception", True),
        ("a,_all", "invalid_index_name_exception", True),
        ("a,,b", "invalid_index_name_exception", True),
        (",a", "invalid_index_name_exception", True),
        ("a,,b", "index_not_found_exception", False),
        ("a,-", "invalid_index_name_exception", True),
        ("-a", "index_not_found_exception", False),
        ("r:x", "no_such_remote_cluster_exception", True),
        ("*:*", "no_such_remote_cluster_exception", True),
        ("a,r:x", "index_not_found_exception", False),
        ("a::data", "index_not_found_exception", False),
        ("a::other", "index_not_found_exception", True),
        ("<s{now{'hared-logs'}}>", "illegal_argument_exception", True),
        ("-<s{now{'x'}}>", "illegal_argument_exception", True),
    ],
)
def test_expression_that_could_leave_the_prefix_is_refused(text, type_, product):
    with pytest.raises(Refusal) as refused:
        NAMES.expression(text, {}, product=product)
    assert refused.value.type == type_


def test_expression_remembers_what_the_client_wrote():
    spelled = {}
    NAMES.expression("a*,-ab", spelled, product=True)
    assert spelled == {"acme.a*": "a*", "-acme.ab": "-ab", "acme.a*,-acme.ab": "a*,-ab"}


@pytest.mark.parametrize("name", ["_foo", "-foo", "+foo", "a,b", "a*", "a b", ""])
def test_one_illegal_name_for_a_creation_is_refused(name):
    with pytest.raises(Refusal) as refused:
        NAMES.one(name, {}, product=True, creatable=True)
    assert refused.value.type == "invalid_index_name_exception"


@pytest.mark.parametrize("name", ["a,b", "a*", "a b"])
def test_one_name_that_others_could_take_for_several_is_not_found(name):
    with pytest.raises(Refusal) as refused:
        NAMES.one(name, {}, product=True)
    assert refused.value.status == 404


def test_one_legal_name_gets_the_prefix():
    spelled = {}
    assert NAMES.one("logs-1", spelled, product=True, creatable=True) == "acme.logs-1"
    assert spelled == {"acme.logs-1": "logs-1"}


@pytest.mark.parametrize("tenant", ["", "Acme", "acme\n", "a.b", "-a", "_a", "a" * 65, "ä", "a,b", "*", ".."])
def test_tenant_ids_that_are_not_legal(tenant):
    assert not legal_tenant(tenant)


@pytest.mark.parametrize("tenant", ["a", "0", "acme-eu_1", "a" * 64])
def test_tenant_ids_that_are_legal(tenant):
    assert legal_tenant(tenant)


@pytest.mark.parametrize("product", [True, False])
@pytest.mark.parametrize(
    ("text", "physical"),
    [("-a", "-acme.a"), ("-a,-b*", "-acme.a,-acme.b*"), ("-a,b*", "-acme.a,acme.b*"), ("b*,-a", "acme.b*,-acme.a")],
)
def test_exclusions_among_aliases_are_sent_as_they_are(text, physical, product):
    spelled = {}
    assert NAMES.expression(text, spelled, product=product, aliases=True) == physical
    assert all(term.lstrip("-").startswith("acme.") for term in physical.split(","))
