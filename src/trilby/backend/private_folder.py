"""Whether a folder is the user's alone: what is executed is read from no other."""

import os
import stat


def is_of_user_alone(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder that exists is the user's, and nobody else may write to it."""
    about = os.stat(folder)
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    return not hasattr(os, "geteuid") or about.st_uid == os.geteuid()
