"""What a process keeps of each tenant."""

import tracemalloc

from esproxy import core
from esproxy.api.kinds import Kind
from esproxy.core import Action, Op
from esproxy.tenancy.layouts import dedicated_answer
from esproxy.tenancy.tenant import Tenants

BAR = 40 << 20  # for ten thousand of them


def test_ten_thousand_tenants_that_have_asked_stay_below_their_bar():
    """Allocated bytes, which are the same in every run; benchmarks/memory.py measures what is resident."""
    tenants = Tenants(".", looked_at=False)
    _ = tenants.get("first").answer
    tracemalloc.start()
    for number in range(1000):
        _ = tenants.get(f"tenant-{number:06d}").answer
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held * 10 < BAR


def test_bindings_tell_what_they_bind():
    assert repr(core.Bindings({Kind.INDEX: Action(Op.PREFIX, b"a.")})) == "<Bindings of REFUSE, INDEX>"
    assert "DOC" not in repr(core.Bindings(dedicated_answer(b"a.", keep_tags=True)))
