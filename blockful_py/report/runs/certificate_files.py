# SPDX-License-Identifier: Apache-2.0
"""Writes certificates into the run's folder, each as a document and a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.certificates.document import ErasureCertificate, FiguresBefore
from blockful_py.report.certificate import render_certificate
from blockful_py.report.plain import plain_language
from blockful_py.report.runs.certificate_page import page_of
from blockful_py.whole_file import write_whole


def keep(
    certificate: ErasureCertificate,
    folder: Path,
    measured: Mapping[str, FiguresBefore] = MappingProxyType({}),
) -> Path:
    """Writes `erasure-<time of the request>.json` and `.html`; returns the document's path.

    `measured` is as for `page_of`.  Raises RunError if they cannot be written.
    """
    path = folder / f"erasure-{certificate.statement.request.created}.json"
    write_whole(path, certificate.to_bytes(), parents=True)
    write_page(certificate, path.with_suffix(".html"), path.name, measured)
    return path


def write_page(
    certificate: ErasureCertificate,
    path: Path,
    document: str,
    measured: Mapping[str, FiguresBefore] = MappingProxyType({}),
) -> None:
    """Checks that the certificate is consistent and writes its page; `measured` is as for `page_of`.

    Raises VerificationError for an inconsistent certificate, and RunError if the file cannot be written.
    """
    page = page_of(certificate, check_certificate(certificate), document, measured)
    write_whole(path, render_certificate(page, plain_language(page)).encode())
