"""Commands in processes of their own: their last words, and how they end with their parent."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from mage.errors import RunError
from mage.run.children import Children


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Runs a line of shell in place of this program."""

    def put(text):
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))
        return tmp_path

    return put


def failure(folder):
    with pytest.raises(RunError) as error:
        Children().run(["train", "x"], folder, "run")
    return str(error.value)


def test_a_failure_is_told_in_the_words_of_the_process(program):
    folder = program('echo "{}"; echo "mage: resumed" >&2; echo "mage: error: disk full" >&2; echo "{}"; exit 2')
    assert failure(folder) == f"`mage train x` failed: disk full (all of it: {folder / 'run.log'})"
    assert (folder / "run.out").read_text() == "{}\n{}\n"
    assert "failed: ended with status 3 (" in failure(program("echo mine; exit 3"))


def test_one_that_is_killed_says_so(program):
    assert "failed: killed by signal 9 (SIGKILL) (" in failure(program("echo working >&2; kill -9 $$"))


def test_all_end_when_they_are_told_to(program):
    folder, children, failures = program("exec sleep 60"), Children(), []

    def run(label):
        try:
            children.run(["train"], folder, label)
        except RunError as error:
            failures.append(str(error))

    threads = [threading.Thread(target=run, args=(str(number),)) for number in range(2)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    while not all((folder / f"{number}.log").exists() for number in range(2)):
        time.sleep(0.01)
    children.stop()
    for thread in threads:
        thread.join()
    run("late")
    assert time.monotonic() - began < 30
    assert len(failures) == 3
    assert failures[-1] == "stopped"


PYTHON = sys.executable
COMPARE = """
import sys
from mage import cli
sys.executable = sys.argv[1]
sys.exit(cli.main(["compare", "kuhn", "--methods", "mage", "--seeds", "0", "--run", sys.argv[2]]))
"""


def test_a_comparison_that_is_terminated_ends_its_runs_and_itself(program, tmp_path):
    folder = program('echo $$ > "$0.pid"; exec sleep 60')
    command = [PYTHON, "-c", COMPARE, str(folder / "program"), str(tmp_path / "compared")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    pid = folder / "program.pid"
    while not (pid.exists() and pid.read_text().strip()):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 143
    assert error.endswith("stopped; the same command goes on from there\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
