# SPDX-License-Identifier: Apache-2.0
"""States recipients of models, tells them of recalls, and records their answers (`blockful recall`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, PassphraseFile, Run, located_run
from blockful_py.cli.passphrase import passphrase_from
from blockful_py.cli.recall_recipient import read_file
from blockful_py.errors import BlockfulError, FormatError, SettingsError, VerificationError

if TYPE_CHECKING:
    from blockful_py.pipeline.run.opened import OpenedRun
    from blockful_py.recall.address_book import Addressee
    from blockful_py.record.model_node import PlacedNode
    from blockful_py.record.recall.documents import SignedAnswer
    from blockful_py.record.recall.recipients import Delivered, Recipients

Keystore = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The keystore of the account that signs. Default: the run's accounts, or the participant whose "
        "run it is.",
    ),
]


def deliver(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The name of the model.")],
    recipients: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV with a column name or account, or both, and perhaps webhook: a row for each recipient.",
        ),
    ],
    run: Run,
    version: Annotated[
        int | None, typer.Option(min=0, help="The version that they received. Default: the current one.")
    ] = None,
    keystore: Keystore = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """State who received a version of a model, in one transaction for all of them.

    The record gets accounts, and salted hashes of names.  Names, salts and webhooks stay in the run's folder,
    in recipients.json.  The model's owner signs.  Running the command again adds only missing recipients.

    Example: blockful recall deliver r6 recipients.csv --run runs/latest/parallel
    """
    run = located_run(run)
    from blockful_py.pipeline.recalls import declare
    from blockful_py.pipeline.run.opened import OpenedRun
    from blockful_py.recall.address_book import AddressBook, read_addressees
    from blockful_py.record.recall.documents import Deliveries

    out, addressees = Output(as_json), read_addressees(recipients)
    with OpenedRun.attach(run) as opened:
        placed = opened.catalogue()[model]
        received = placed.version if version is None else version
        if received > placed.version:
            raise SettingsError(
                f"{model} is at version {placed.version}: there is no version {received} yet."
            )
        secret = _secret_of(opened, keystore, passphrase_file)(placed)
        place = str(placed.position)
        there = {
            (each.recipient, each.account)
            for each in _recipients(opened).delivered
            if (each.position, each.version) == (place, received)
        }
        book = AddressBook.read(opened.run.recipients).with_delivered(place, received, addressees)
        book.write(opened.run.recipients)
        stated = [each.recipient for each in book.of(place, received)]
        missing = sorted(
            (each for each in stated if (each.recipient, each.account) not in there),
            key=lambda each: each.recipient,
        )
        receipt = None
        if missing:
            file = Deliveries(position=place, version=received, recipients=tuple(missing))
            receipt = declare(opened, secret, file)
    gas = None if receipt is None else receipt.gas_used
    out.result({"model": model, "version": received, "declared": len(missing), "gas": gas})
    out.say(f"{model}, version {received}: {len(missing)} recipients are now on the record ({gas or 0} gas)")


def status(
    run: Run = LATEST,
    model: Annotated[str | None, typer.Option(help="Show one model.", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """List the recipients of each version, and their answers to recalls.

    Ends with status 1 while a recipient of a recalled version has yet to answer.

    Example: blockful recall status --run runs/latest/parallel
    """
    run = located_run(run)
    from blockful_py.pipeline.run.opened import OpenedRun
    from blockful_py.recall.address_book import AddressBook

    out = Output(as_json)
    with OpenedRun.attach(run) as opened:
        names = AddressBook.read(opened.run.recipients).by_recipient()
        if model is not None:
            opened.catalogue()[model]
        found = _recipients(opened)
    delivered = [each for each in found.delivered if model in (None, each.model)]
    still_open = [each for each in delivered if each.is_open]
    out.result(
        {
            "delivered": [_shown(each, names) for each in delivered],
            "open": len(still_open),
            "unread": list(found.unread),
        }
    )
    for each in delivered:
        who = _who(each, names)
        out.say(f"{each.model}, version {each.version}, {who}: {_words(each)}")
    for cid in found.unread:
        out.problem("not readable", f"a file that was declared on a model, {cid}")
    recalled = sum(each.recalled for each in delivered)
    out.say(
        f"{len(delivered)} deliveries, {recalled} of them recalled: {recalled - len(still_open)} answered, "
        f"{len(still_open)} open"
    )
    if still_open:
        raise typer.Exit(1)


def notify(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder for the notices and the feed. Made if missing.")
    ],
    run: Run,
    webhooks: Annotated[
        bool, typer.Option("--webhooks", help="Also post each notice to its recipient's webhook.")
    ] = False,
    keystore: Keystore = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Write a signed notice for each recipient who has yet to answer, and a feed for everybody.

    Notices go to DIR/notices, the feed to DIR/feed.json, and answers that webhooks return to DIR/answers, for
    `blockful recall record`.  Running the command again tells only recipients who are still open.  Ends with
    status 1 if a webhook failed.

    Example: blockful recall notify recall --webhooks --run runs/latest/parallel
    """
    run = located_run(run)
    from blockful_py.pipeline.run.opened import OpenedRun
    from blockful_py.recall.address_book import AddressBook
    from blockful_py.recall.notices import feed, notices
    from blockful_py.whole_file import write_whole

    out, at = Output(as_json), int(time.time())
    with OpenedRun.attach(run) as opened:
        catalogue, secret_of = opened.catalogue(), _secret_of(opened, keystore, passphrase_file)
        names = AddressBook.read(opened.run.recipients).by_recipient()
        made = notices(opened, catalogue, _recipients(opened).open, secret_of, at)
        write_whole(folder / "feed.json", feed(opened, catalogue, secret_of, at), parents=True)
    files = {}
    for each, notice in made.items():
        files[each] = folder / "notices" / f"{_file_name(each)}.json"
        write_whole(files[each], notice.to_bytes(), parents=True)
    failed: dict[str, str] = {}
    answered: list[str] = []
    if webhooks:
        from blockful_py.recall.webhooks import post, webhook_session

        with webhook_session() as session:
            for each, notice in made.items():
                addressee = names.get((each.position, each.version, each.recipient))
                if addressee is None or addressee.webhook is None:
                    continue
                try:
                    answer = post(session, addressee.webhook, notice)
                except BlockfulError as error:
                    failed[_who(each, names)] = str(error)
                    continue
                if answer is not None:
                    path = folder / "answers" / f"{_file_name(each)}.json"
                    write_whole(path, answer.to_bytes(), parents=True)
                    answered.append(str(path))
    out.result(
        {
            "feed": str(folder / "feed.json"),
            "notices": [{**_shown(each, names), "file": str(path)} for each, path in files.items()],
            "answers": answered,
            "failed": failed,
        }
    )
    for each, path in files.items():
        out.say(f"{path}: {each.model}, version {each.version}, for {_who(each, names)}")
    for who, reason in failed.items():
        out.problem(f"not told: {who}", reason)
    out.say(f"{len(files)} notices, {len(answered)} answers, {len(failed)} webhooks failed")
    if failed:
        raise typer.Exit(1)


def record(
    files: Annotated[list[Path], typer.Argument(metavar="ANSWER...", help="Answers of recipients.")],
    run: Run,
    keystore: Keystore = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Put recipients' answers on the record, in one transaction for each model.

    Answers that would not count are refused, with the reason, and the others are recorded; the command then
    ends with status 1.  A recipient may record its own answer, with its --keystore.

    Example: blockful recall record answer.json --run runs/latest/parallel
    """
    run = located_run(run)
    from blockful_py.pipeline.recalls import account_of, declare
    from blockful_py.pipeline.run.opened import OpenedRun
    from blockful_py.pipeline.run.recipients import live_domain, recorded
    from blockful_py.record.recall.documents import MAX_ENTRIES, parse_answer, together
    from blockful_py.record.recall.recipients import require_answer

    out = Output(as_json)
    refused: dict[str, str] = {}
    good: dict[str, list[SignedAnswer]] = {}
    with OpenedRun.attach(run) as opened:
        catalogue = opened.catalogue()
        models, found = recorded(opened.contracts, catalogue), _recipients(opened)
        places = {str(placed.position): placed for placed in catalogue.models.values()}
        secret_of = _secret_of(opened, keystore, passphrase_file, any_account=True)
        secrets = {}
        for path in files:
            try:
                each = parse_answer(read_file(path))
                if each.position not in places:
                    raise FormatError(f"it is on a model at {each.position}, and there is none.")
                if each.position not in secrets:
                    secrets[each.position] = secret_of(places[each.position])
                by = account_of(secrets[each.position])
                require_answer(each, by, found, models, live_domain(opened.contracts))
            except (FormatError, VerificationError) as error:
                refused[str(path)] = str(error)
            else:
                good.setdefault(each.position, []).append(each)
        gas = 0
        for position, answers in good.items():
            for at in range(0, len(answers), MAX_ENTRIES):
                file = together(position, answers[at : at + MAX_ENTRIES])
                gas += declare(opened, secrets[position], file).gas_used
    recorded_count = sum(map(len, good.values()))
    out.result({"recorded": recorded_count, "refused": refused, "gas": gas})
    for path_text, reason in refused.items():
        out.problem(f"refused: {path_text}", reason)
    out.say(f"{recorded_count} answers are on the record ({gas} gas), {len(refused)} refused")
    if refused:
        raise typer.Exit(1)


def _recipients(opened: OpenedRun) -> Recipients:
    """All recipients on the record.  Raises DeploymentError if its contracts came before recalls."""
    from blockful_py.pipeline.run.recipients import recipients_in

    opened.contracts.participants.require_declarations()
    return recipients_in(opened.contracts, opened.catalogue(), opened.stores.live)


def _secret_of(
    opened: OpenedRun, keystore: Path | None, passphrase_file: Path | None, any_account: bool = False
) -> Callable[[PlacedNode], int]:
    """The secret of a model's owner: from the keystore, else the participant's folder, else the run.

    `any_account`: a keystore's or a participant's account may be another one.
    """
    from blockful_py.chain.account_file import secret_in
    from blockful_py.cli.participant import opened_folder
    from blockful_py.pipeline.recalls import owner_secret, require_owner

    if keystore is not None:
        secret = secret_in(keystore, passphrase_from(passphrase_file))
    elif opened.run.party is not None:
        secret = opened_folder(opened.run.path.parent, passphrase_file)[1].account_secret
    else:
        return lambda placed: owner_secret(opened, placed)
    return lambda placed: secret if any_account else require_owner(secret, placed)


Names = dict[tuple[str, int, str], "Addressee"]


def _who(delivered: Delivered, names: Names) -> str:
    """The recipient's name if this machine knows it, else its account or hash."""
    known = names.get((delivered.position, delivered.version, delivered.recipient))
    name = None if known is None else known.name
    return name or delivered.account or delivered.recipient


def _words(delivered: Delivered) -> str:
    given = delivered.answered
    if given is None:
        return "open" if delivered.recalled else "current"
    said = f"{given.answer.did.value}, signed by {given.signer}"
    said += ", which its publisher vouches for" if given.vouched else ""
    return said + (", after it had said that no copy was left" if delivered.contradicts else "")


def _shown(delivered: Delivered, names: Names) -> dict[str, Any]:
    given = delivered.answered
    return {
        "model": delivered.model,
        "version": delivered.version,
        "recipient": delivered.recipient,
        "account": delivered.account,
        "name": getattr(
            names.get((delivered.position, delivered.version, delivered.recipient)), "name", None
        ),
        "recalled": delivered.recalled,
        "did": None if given is None else given.answer.did.value,
        "at": None if given is None else given.answer.at,
        "vouched": None if given is None else given.vouched,
    }


def _file_name(delivered: Delivered) -> str:
    return f"{delivered.model}-v{delivered.version}-{delivered.recipient[-12:]}"
