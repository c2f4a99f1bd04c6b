"""As whom a node runs.

The engines refuse to run as root, so root hands its nodes to the user "nobody". Everything such a node touches (JDK, engine,
its own folder) then has to be open to that user down from the top of the file system, and a home folder of root seldom is.
"""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Identity:
    uid: int
    gid: int

    def can_read(self, path: Path) -> bool:
        """Whether this user, who owns none of it, may pass all folders above ``path`` and read it. Follows links."""
        try:
            real = path.resolve(strict=True)
            last = real.stat().st_mode
            passable = all(folder.stat().st_mode & stat.S_IXOTH for folder in real.parents)
        except OSError:
            return False
        wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(last) else 0)
        return passable and last & wanted == wanted

    def own(self, folder: Path) -> None:
        """Give the user a folder and all that is in it."""
        os.chown(folder, self.uid, self.gid)
        for parent, folders, files in os.walk(folder):
            for name in (*folders, *files):
                os.chown(os.path.join(parent, name), self.uid, self.gid, follow_symlinks=False)


def node_identity() -> Identity | None:
    """Whom nodes are handed to; None: they run as we do."""
    if os.geteuid() != 0:
        return None
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return Identity(65534, 65534)
    return Identity(nobody.pw_uid, nobody.pw_gid)
