"""The command ``tacit serve``: a study over HTTP, as pages and for machines."""

from __future__ import annotations

from getpass import getuser
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.display import plain, show_json
from tacit.cli.options import AsJson, Folder


def serve(
    folder: Folder,
    address: Annotated[
        str,
        typer.Option(metavar="HOST", help="Where to listen; others can reach all but loopback."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="NUMBER", min=0, max=65535, help="0 for any that is free.")
    ] = 8000,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="What callers call the server, as in clinic.example."),
    ] = None,
    certfile: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate for HTTPS, in PEM.")
    ] = None,
    keyfile: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Key of the certificate.")
    ] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front of it does HTTPS.")
    ] = False,
    files: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where release files go; by default STUDY.files."),
    ] = None,
    custodian: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who logs in; by default the user's name.")
    ] = None,
    servers: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Processes that answer requests.")
    ] = 1,
    workers: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Processes that design and deliver.")
    ] = 2,
    as_json: AsJson = False,
) -> None:
    """Serve a study over HTTP until it is interrupted.

    Prints an address where the custodian logs in, once.
    """
    from tacit.service.serve import Listening, serve

    def tell(login: str) -> None:
        if as_json:
            show_json({"login": login, "files": str(place)})
        else:
            print(f"{plain(str(folder))} is served; log in, once: {login}", flush=True)

    place = files or folder.resolve().with_name(f"{folder.resolve().name}.files")
    listening = Listening(
        address, port, tuple(name or ()), certfile, keyfile, behind_proxy=behind_proxy
    )
    serve(
        folder,
        place,
        listening,
        custodian=custodian or getuser(),
        servers=servers,
        workers=workers,
        tell=tell,
    )
