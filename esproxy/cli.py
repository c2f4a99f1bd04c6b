"""The command line.

    esproxy serve --config esproxy.toml --workers 2
    esproxy serve --upstream http://127.0.0.1:9200 --tenants acme,zenith
    esproxy check esproxy.toml
    esproxy sharing --config esproxy.toml
    esproxy routes --engine opensearch
    esproxy rules --engine elasticsearch _global.bulk
    esproxy demo --once

Exit statuses: 0 all is well; 1 the configuration has problems; 2 the command was not understood; 3 the proxy could
not start, or the cluster could not be asked.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from esproxy import __version__
from esproxy.config import CONFIG_VARIABLE, ConfigError, Settings, effective, load, warnings

PROBLEMS = 1
FAILED = 3


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    args = parser(wants_demo=arguments[:1] == ["demo"]).parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = args.run
    return run(args)


def parser(wants_demo: bool = False) -> argparse.ArgumentParser:
    """``wants_demo``: only then is the demo's own code, which knows its flags, loaded."""
    top = argparse.ArgumentParser(prog="esproxy", description="A multi-tenancy proxy for Elasticsearch and OpenSearch.")
    top.add_argument("--version", action="version", version=f"esproxy {__version__}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="run the proxy")
    serve.set_defaults(run=run_serve)
    add_sources(serve)

    check = commands.add_parser("check", help="report all problems of a configuration")
    check.set_defaults(run=run_check)
    check.add_argument("file", nargs="?", metavar="FILE", help=f"the configuration (default: what {CONFIG_VARIABLE} names)")
    check.add_argument(
        "--effective", action="store_true", help="print what is in force: defaults, file, environment; secrets masked"
    )

    shared = commands.add_parser("sharing", help="report how many indices share physical ones, and why the others do not")
    shared.set_defaults(run=run_sharing)
    shared.add_argument("--config", metavar="FILE", help=f"the configuration (default: what {CONFIG_VARIABLE} names)")

    for name, run, what in (
        ("routes", run_routes, "print which requests are served, and where"),
        ("rules", run_rules, "print what each position of a body means, and why"),
    ):
        printed = commands.add_parser(name, help=what)
        printed.set_defaults(run=run)
        printed.add_argument("--engine", choices=("elasticsearch", "opensearch"), default="elasticsearch")
        printed.add_argument("word", nargs="?", default="", metavar="WORD", help="only lines that hold it")

    demo = commands.add_parser("demo", help="set up a node, the proxy and tenants, and show what each sees")
    if wants_demo:
        from esproxy.demo import add_arguments
        from esproxy.demo import main as run_demo

        add_arguments(demo)
        demo.set_defaults(run=run_demo)
    return top


def add_sources(serve: argparse.ArgumentParser) -> None:
    """Flags of ``serve``: the file, and the settings that are most often wanted. They outweigh file and environment."""
    serve.add_argument("--config", metavar="FILE", help=f"the configuration (default: what {CONFIG_VARIABLE} names, else none)")
    serve.add_argument("--upstream", metavar="URL", action="append", help="a node of the cluster; may be given again")
    serve.add_argument("--host", help="address for clients")
    serve.add_argument("--port", help="port for clients; 0: any free one")
    serve.add_argument("--admin-port", help="port for operators; 0: off")
    serve.add_argument("--workers", help="worker processes")
    serve.add_argument("--layout", help="layout of new indices")
    serve.add_argument("--tenant-header", metavar="NAME", help="header that names the tenant")
    serve.add_argument("--tenants", metavar="IDS", help="tenants, with commas between them; '*' lets in any legal id")
    serve.add_argument("--log-level", help="debug, info, warning or error")


FLAGS = {  # flag: path of its setting
    "host": ("listen", "host"),
    "port": ("listen", "port"),
    "admin_port": ("listen", "admin_port"),
    "workers": ("listen", "workers"),
    "layout": ("placement", "layout"),
    "tenant_header": ("identity", "header"),
    "log_level": ("log", "level"),
}


def flags(args: argparse.Namespace) -> dict[str, Any]:
    """What the flags say, nested as the file is."""
    found: dict[str, Any] = {}
    for flag, (section, name) in FLAGS.items():
        if (value := getattr(args, flag)) is not None:
            found.setdefault(section, {})[name] = value
    if args.tenants == "*":
        found["tenants"] = {"mode": "open", "ids": []}
    elif args.tenants is not None:
        found["tenants"] = {"mode": "registered", "ids": args.tenants}
    return found


def read(path: str | None, args: argparse.Namespace | None = None) -> Settings:
    """Raises ConfigError."""
    path = path or os.environ.get(CONFIG_VARIABLE) or None
    return load(path, flags(args) if args is not None else None, upstream=args.upstream if args is not None else None)


def run_check(args: argparse.Namespace) -> int:
    try:
        settings = read(args.file)
    except ConfigError as error:
        return say_problems(error)
    for warning in warnings(settings):
        print(f"esproxy: warning: {warning}", file=sys.stderr)
    print(effective(settings) if args.effective else "the configuration is good", end="" if args.effective else "\n")
    return 0


def run_serve(args: argparse.Namespace) -> int:
    from esproxy.serve.logs import configure
    from esproxy.serve.supervisor import Supervisor

    try:
        settings = read(args.config, args)
    except ConfigError as error:
        return say_problems(error)
    configure(settings.log)

    async def run() -> int:
        return await Supervisor(settings, lambda: read(args.config, args)).run()

    return asyncio.run(run())


def run_sharing(args: argparse.Namespace) -> int:
    from esproxy.catalogue.sharing import lines
    from esproxy.errors import EsproxyError
    from esproxy.serve.sharing import read_sharing

    try:
        found = read_sharing(read(args.config))
    except ConfigError as error:
        return say_problems(error)
    except EsproxyError as error:
        print(f"esproxy: the cluster could not be asked: {error.reason}", file=sys.stderr)
        return FAILED
    print("\n".join(lines(found)))
    return 0


def run_routes(args: argparse.Namespace) -> int:
    from esproxy.listing import routes

    return say(routes(args.engine, args.word))


def run_rules(args: argparse.Namespace) -> int:
    from esproxy.listing import rules

    return say(rules(args.engine, args.word))


def say(lines: Iterator[str]) -> int:
    """Print the lines there are; to find none is a failure, as for what searches."""
    found = list(lines)
    if found:
        print("\n".join(found))
    return 0 if found else PROBLEMS


def say_problems(error: ConfigError) -> int:
    for problem in error.problems:
        print(f"esproxy: {problem}", file=sys.stderr)
    return PROBLEMS
