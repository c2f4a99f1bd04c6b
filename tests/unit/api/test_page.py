from pathlib import Path

from esproxy.api.page import page
from esproxy.api.routes import ENDPOINTS
from esproxy.api.tables import load

DOCS = Path(__file__).parents[3] / "docs"


def test_page_of_endpoints_is_current():
    assert (DOCS / "endpoints.md").read_text() == page()


def test_every_row_is_an_endpoint_of_the_tables_and_the_other_way_round():
    known = load("elasticsearch").endpoints.keys() | load("opensearch").endpoints.keys()
    assert ENDPOINTS.keys() == known
