# SPDX-License-Identifier: Apache-2.0
"""Real IPFS nodes for tests: a Kubo where one is on PATH, else the one that `make test-ipfs` installs."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from urllib.request import Request, urlopen

from blockful_py.chain.processes import take_port

INSTALLED = Path(__file__).resolve().parents[2] / "build" / "ipfs"
KUBO = shutil.which("ipfs")
HOST = "/ip4/127.0.0.1"
BOUNDARY = "boundary-of-a-test"
NODE_ENVIRONMENT = {
    **os.environ,
    "NODE_OPTIONS": f"--require={INSTALLED / 'polyfill.cjs'}",
    "NODE_NO_WARNINGS": "1",
}


class IpfsNode:
    """A node without a network, in a folder and at a port of its own; it can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = take_port()
        self.api = f"{HOST}/tcp/{self._port.number}"
        self.process: subprocess.Popen[str] | None = None
        if KUBO:
            self._kubo("init", "--empty-repo", "--profile", "test")
            self._kubo("config", "Addresses.API", self.api)
            with take_port() as gateway:
                self._kubo("config", "Addresses.Gateway", f"{HOST}/tcp/{gateway.number}")

    def start(self) -> None:
        """Starts the node and waits until its API listens."""
        command = ["ipfs", "daemon", "--offline"] if KUBO else self._javascript()
        self.process = subprocess.Popen(
            command, env=self._environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        said = []
        for line in self.process.stdout:
            if "API server listening" in line:
                return
            said.append(line)
        self.kill()
        raise AssertionError(f"the IPFS node ended before it listened: {''.join(said)}")

    def post(self, path: str, file: bytes | None = None) -> bytes:
        """The answer of the node's API, which is sent a file."""
        body, headers = b"", dict[str, str]()
        if file is not None:
            head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n'
            body = f"{head}Content-Type: application/octet-stream\r\n\r\n".encode() + file
            body += f"\r\n--{BOUNDARY}--\r\n".encode()
            headers["Content-Type"] = f"multipart/form-data; boundary={BOUNDARY}"
        url = f"http://127.0.0.1:{self._port.number}/api/v0/{path}"
        with urlopen(Request(url, body, headers), timeout=600) as answer:
            return bytes(answer.read())

    def kill(self) -> None:
        """Ends the node as a power cut does; its repository can be opened again."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            if self.process.stdout is not None:
                self.process.stdout.close()
            self.process = None
        with suppress(FileNotFoundError):
            shutil.rmtree(self._folder / "repo.lock")

    def close(self) -> None:
        """Ends the node for good."""
        self.kill()
        self._port.close()

    def _javascript(self) -> list[str]:
        return ["node", str(INSTALLED / "node.mjs"), str(self._folder), str(self._port.number)]

    def _kubo(self, *words: str) -> None:
        subprocess.run(["ipfs", *words], env=self._environment(), check=True, capture_output=True)

    def _environment(self) -> dict[str, str]:
        return {**NODE_ENVIRONMENT, "IPFS_PATH": str(self._folder)}
