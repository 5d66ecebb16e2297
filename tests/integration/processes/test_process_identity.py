"""Whether a process still runs, told from the mark it left."""

import json
import os
import subprocess
import sys

from sojourn.processes.identity import is_dead, this_process

MARK = "import json; from sojourn.processes.identity import this_process; print(json.dumps(this_process()), flush=True)"


def test_this_process_is_not_dead():
    assert not is_dead(this_process())


def test_a_process_is_dead_when_it_was_killed_also_before_it_is_buried():
    child = subprocess.Popen([sys.executable, "-c", f"{MARK}; input()"], stdin=-1, stdout=-1, text=True)
    with child:
        mark = json.loads(child.stdout.readline())
        assert not is_dead(mark)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has asked how
        assert is_dead(mark)
    assert is_dead(mark)


def test_a_later_process_with_the_same_number_is_another_one():
    assert is_dead({**this_process(), "started": "1"})


def test_a_program_that_replaced_itself_is_another_one():
    told = "import os, sys; os.execv(sys.executable, [sys.executable, '-c', sys.argv[1], json.dumps(this_process())])"
    asked = "import json, sys; from sojourn.processes.identity import is_dead; print(is_dead(json.loads(sys.argv[1])))"
    ran = subprocess.run([sys.executable, "-c", f"{MARK}; {told}", asked], capture_output=True, text=True, timeout=30)
    assert ran.stdout.splitlines()[1:] == ["True"], ran.stderr


def test_nothing_is_known_of_another_machine_or_container():
    assert not is_dead({**this_process(), "pid": 4_000_000, "host": "elsewhere"})
    assert not is_dead({**this_process(), "pid": 4_000_000, "space": "another boot"})
    assert is_dead({**this_process(), "pid": 4_000_000})


def test_a_mark_that_makes_no_sense_says_nothing():
    assert not is_dead({})
    assert not is_dead({**this_process(), "pid": "x"})
