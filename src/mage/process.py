"""The command line as a process: its streams, its signals, its exit status, and mistakes in words."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Any

import typer

from mage.errors import MageError

CLICK_ERROR: Any = typer.BadParameter.__mro__[2]
"""`ClickException` of the click that this typer uses: newer ones carry their own."""

STOPPING = (signal.SIGINT, signal.SIGTERM)


def run(app: typer.Typer, arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status: 2 for a mistake of the user, 130 interrupted, 143 terminated."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell: >&-
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no "±" gets a "?"
    logging.basicConfig(level=logging.WARNING, format="mage: %(message)s")
    in_main_thread = threading.current_thread() is threading.main_thread()
    received: list[int] = []

    def terminate(number: int, frame: FrameType | None) -> None:
        received.append(number)
        interrupt = signal.getsignal(signal.SIGINT)
        _ignore_signals()
        if not callable(interrupt):  # a script's background jobs ignore interrupts
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)  # whatever an interrupt ends in good order, this does too

    before = {number: signal.getsignal(number) for number in STOPPING} if in_main_thread else {}
    if in_main_thread:
        signal.signal(signal.SIGTERM, terminate)
    stopped = False
    try:
        status = app(args=None if arguments is None else list(arguments), standalone_mode=False)
        sys.stdout.flush()
        stopped = bool(received) or status == 128 + signal.SIGINT  # typer makes a status of an interrupt
        if received:
            return 128 + received[0]
        return status if isinstance(status, int) else 0
    except MageError as error:
        sys.stderr.write(f"mage: error: {error}\n")
        return 2
    except CLICK_ERROR as error:
        error.show()
        return int(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        stopped = True
        return 128 + (received[0] if received else signal.SIGINT)
    except BrokenPipeError:
        _silence_stdout()
        return 128 + signal.SIGPIPE
    except OSError as error:  # the machine's answer to a path or a stream that was given, not a fault of the program
        sys.stderr.write(f"mage: error: {error.filename or 'output'}: {error.strerror or error}\n")
        if error.filename is None:
            _silence_stdout()
        return 2
    finally:
        if in_main_thread and stopped and arguments is None:
            _ignore_signals()  # the process ends: another Ctrl-C would only spoil its last words
        else:
            for number, handler in before.items():
                signal.signal(number, handler)


def _ignore_signals() -> None:
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


def _silence_stdout() -> None:
    """Lead standard output nowhere, so that the flush at exit is quiet too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
