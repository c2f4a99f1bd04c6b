"""The command line where it is no server."""

import subprocess
import sys

import pytest

from esproxy import __version__
from esproxy.cli import main


def test_version_is_printed(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"esproxy {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["serv"], ["serve", "--prot", "1"], ["check", "a", "b"]])
def test_command_that_is_not_understood_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2 and "usage: esproxy" in capsys.readouterr().err


def test_serve_with_a_bad_configuration_ends_with_1_and_names_every_problem(capsys):
    assert main(["serve", "--port", "x", "--upstream", "nonsense", "--host", "0.0.0.0"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == [
        'esproxy: listen.port: must be a whole number, is "x"',
        'esproxy: clusters.main.nodes[0]: must be a URL such as http://127.0.0.1:9200, is "nonsense"',
    ]
    assert len(told) == 3 and told[2].startswith('esproxy: listen.host: "0.0.0.0" is not loopback')


def test_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "esproxy", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"esproxy {__version__}\n"
