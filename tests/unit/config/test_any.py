"""Whatever stands in a configuration, it is settings or a list of problems, never another exception."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esproxy.config import ConfigError, Settings, effective, load
from esproxy.settings.load import read_file
from esproxy.settings.page import sections

NAMES = sorted({name for _, model in sections() for name in model.model_fields})
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 70000),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["main", "acme", "http://a:1", "*"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3), max_leaves=6
)
FILES = st.dictionaries(
    st.sampled_from([*Settings.model_fields, "other"]),
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4) | VALUES,
    max_size=5,
)


@given(FILES)
def test_any_configuration_is_settings_or_problems(data):
    try:
        settings = load(flags=data, upstream=["http://a:1"])
    except ConfigError as error:
        assert error.problems and all(problem.text for problem in error.problems)
    else:
        assert isinstance(settings, Settings)


@given(FILES)
def test_effective_settings_are_read_back_as_they_are(tmp_path_factory, data):
    try:
        settings = load(flags=data, upstream=["http://a:1"])
    except ConfigError:
        return
    path = tmp_path_factory.mktemp("effective") / "x.toml"
    path.write_text(effective(settings))
    again = read_file(path)
    if not settings.secrets.keys and all(cluster.password is None for cluster in settings.clusters.values()):
        assert load(path) == settings, again


def test_a_section_that_is_no_table_is_one_problem():
    with pytest.raises(ConfigError) as caught:
        load(flags={"clusters": 5})
    assert str(caught.value) == "clusters: must be a table, is 5"
