# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading and writing bundles (docs/Rationale/Bundle.md)."""

import datetime
import json
import os
import uuid
import zipfile

from .. import files
from .data import sha256
from .errors import InputError

VERSION = [1, 0]


def new_capture_id():
    return uuid.uuid4().hex


def write(path, head, ranks, blobs, sources):
    """Write a bundle: head without `files`, one record per rank, file name -> bytes for literals and sources.

    The file appears complete or not at all. Raises InputError if it cannot be written.
    """
    members = {f"rank{k}.json": json.dumps(r, separators=(",", ":")).encode() for k, r in enumerate(ranks)}
    members.update(sources)
    members.update(blobs)
    head = dict(head)
    head["files"] = {name: sha256(data) for name, data in sorted(members.items())}
    try:
        with files.whole_file(path) as f, zipfile.ZipFile(f, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
            z.writestr("bundle.json", json.dumps(head, indent=1))
            for name, data in members.items():
                kind = zipfile.ZIP_STORED if name.startswith("tensors/") else zipfile.ZIP_DEFLATED
                z.writestr(name, data, compress_type=kind)
    except OSError as e:
        raise InputError(f"cannot write {path}: {e.strerror or e}") from e


def check_writable(path):
    """Fail early if `path` cannot be made."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise InputError(f"cannot write {path}: it is a directory")
    if not os.path.isdir(folder):
        raise InputError(f"cannot write {path}: no such directory: {folder}")
    try:
        files.check_writable(path)
    except OSError as e:
        raise InputError(f"cannot write {path}: {e.strerror or e}") from e


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Bundle:
    """An opened, checked bundle: `head` (bundle.json), `ranks` (records), `read(name)`, `groups` (rank tuples by id)."""

    def __init__(self, path):
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
            self.head = json.loads(self._zip.read("bundle.json"))
        except FileNotFoundError as e:
            raise InputError(f"no such bundle: {path}") from e
        except (OSError, zipfile.BadZipFile, KeyError, ValueError, EOFError) as e:
            raise InputError(f"{path} is not a bundle or is damaged: {e}; export it again") from e
        if not isinstance(self.head, dict) or self.head.get("schema") != "pkb-bundle":
            raise InputError(f"{path} is not a bundle: its bundle.json has no schema pkb-bundle")
        major, minor = (list(self.head.get("version", ())) + [None, None])[:2]
        if major != VERSION[0] or not isinstance(minor, int) or minor > VERSION[1]:
            raise InputError(f"{path} has bundle version {self.head.get('version')}; this pkb reads {VERSION[0]}.0 to {VERSION[0]}.{VERSION[1]}")
        self.world_size = self.head["world_size"]
        self.groups = [tuple(g["ranks"]) for g in sorted(self.head["groups"], key=lambda g: g["id"])]
        self.ranks = []
        for k in range(self.world_size):
            rank = json.loads(self.read(f"rank{k}.json"))
            if rank["capture"] != self.head["capture"]:
                raise InputError(f"{path}: rank{k}.json is from another capture; export again")
            self.ranks.append(rank)

    def read(self, name):
        """The bytes of a member, checked against its hash."""
        try:
            data = self._zip.read(name)
        except KeyError as e:
            raise InputError(f"{self.path} lacks its member {name}; export it again") from e
        except (OSError, zipfile.BadZipFile, ValueError, EOFError) as e:
            raise InputError(f"{self.path}: damaged member {name}: {e}; export it again") from e
        except Exception as e:  # zlib.error has no common base
            raise InputError(f"{self.path}: damaged member {name}: {e}; export it again") from e
        if sha256(data) != self.head["files"].get(name):
            raise InputError(f"{self.path}: damaged member {name}: its hash is wrong; export it again")
        return data

    def extract_sources(self, folder):
        """Write the members below source/ into `folder`."""
        for name in self.head["files"]:
            if name.startswith("source/") and ".." not in name.split("/"):
                target = os.path.join(folder, *name.split("/"))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "wb") as f:
                    f.write(self.read(name))
