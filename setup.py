"""Builds the compiled core. Everything else about the package stands in pyproject.toml.

Sources are ext/esproxy/*.pyx; they are built as esproxy._<name>, next to the Python modules of the package. What the
compiler is told is the same for all of them and stands here and nowhere else. Switches, by environment variable:

    ESPROXY_BUILD_DEBUG=1    checks on: bounds, overflow, assertions, -fsanitize=address,undefined
    ESPROXY_BUILD_TRACE=1    line tracing for coverage of the .pyx files
    ESPROXY_PLAIN_C=1        no intrinsics: the plain C variants of the wide searches
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("ESPROXY_BUILD_DEBUG") == "1"
TRACE = os.environ.get("ESPROXY_BUILD_TRACE") == "1"
PLAIN = os.environ.get("ESPROXY_PLAIN_C") == "1"

FOLDER = Path("ext/esproxy")
MODULES = sorted(path.stem for path in FOLDER.glob("_[a-z]*.pyx"))
HEADERS = sorted(str(path) for path in FOLDER.glob("*.h")) + sorted(str(path) for path in FOLDER.glob("*.pxd"))

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": DEBUG,
    "initializedcheck": DEBUG,
    "overflowcheck": False,  # hashes overflow on purpose; the sanitizer watches the signed ones
    "cdivision": True,
    "embedsignature": True,
    "linetrace": TRACE,
}

COMPILE = ["-O3", "-fno-semantic-interposition"]
LINK: list[str] = []
MACROS: list[tuple[str, str | None]] = []
if DEBUG:
    LINK = ["-fsanitize=address,undefined"]
    COMPILE = ["-O1", "-g", "-UNDEBUG", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined", *LINK]
if TRACE:
    MACROS += [("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]
if PLAIN:
    MACROS += [("ESPROXY_PLAIN_C", None)]

setup(
    ext_modules=cythonize(
        [
            Extension(
                f"esproxy.{name}",
                [str(FOLDER / f"{name}.pyx")],
                depends=HEADERS,
                include_dirs=[str(FOLDER)],
                define_macros=MACROS,
                extra_compile_args=COMPILE,
                extra_link_args=LINK,
            )
            for name in MODULES
        ],
        include_path=["ext"],
        build_dir=os.environ.get("ESPROXY_BUILD_DIR", "build/cython"),
        compiler_directives=DIRECTIVES,
        force=DEBUG or TRACE or PLAIN,
    )
)
