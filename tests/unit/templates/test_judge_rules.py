"""The rules of the judge, each with results that were made up for it."""

import json
import time

import pytest

from sojourn.templates.judge.verdict import judge
from sojourn.templates.judge.wrapper import unwrap

WRAPPED = {
    "mini-SWE-agent": "<returncode>{1}</returncode>\n<output>\n{0}\n</output>",
    "OpenHands": "{0}\n[The command completed with exit code {1}.]\n[Current working directory: /work]",
    "Gemini CLI": "Output: {0}\nExit Code: {1}\nProcess Group PGID: 4711",
    "Gemini CLI, older": (
        "Command: x\nDirectory: (root)\nStdout: {0}\nStderr: (empty)\nError: (none)\nExit Code: {1}\nSignal: (none)"
    ),
    "Codex": "Chunk ID: 1a2b3c\nWall time: 0.2 seconds\nProcess exited with code {1}\nOutput:\n{0}",
    "Codex, older": "Exit code: {1}\nWall time: 1.2 seconds\nOutput:\n{0}",
    "Claude Code": "Exit code {1}\n{0}",
    "Cursor": "Exit code: {1}\n\nCommand output:\n\n```\n{0}\n```\n\nCommand completed in 120 ms.",
    "Cline": "Command failed with exit code {1}.\nOutput:\n{0}",
    "Roo Code": "Command executed in terminal within working directory '/work'. Exit code: {1}\nOutput:\n{0}",
    "AutoGen": "exitcode: {1} (execution failed)\nCode output: {0}",
    "Chinese": "命令执行结束，退出码：{1}\n输出：\n{0}",
}


@pytest.mark.parametrize("agent", WRAPPED)
def test_the_exit_code_of_every_agent_is_found_and_its_lines_are_taken_off(agent):
    run = unwrap(WRAPPED[agent].format("built 3 pages", 3))
    assert (run.code, run.stopped, run.output.strip()) == (3, "", "built 3 pages")
    assert not judge("run_shell_command", {"command": "make site"}, WRAPPED[agent].format("built 3 pages", 2)).success
    assert judge("execute_bash", {"command": "make site"}, WRAPPED[agent].format("built 3 pages", 0)).success
    assert judge("execute_command", {"command": "grep -n pear list.txt"}, WRAPPED[agent].format("", 1)).success


@pytest.mark.parametrize(
    "output", ["[]", "[1, 2, 3]", "[main 1a2b3c] Exit the loop", "plain", "a\n\nb\n", '["exit code 1"]']
)
def test_what_a_program_printed_is_left_whole(output):
    assert unwrap(output) == (None, "", output)


@pytest.mark.parametrize(
    "result",
    [
        "epoch 1\n\n<bash_metadata>\nbash tool terminated command after exceeding timeout 60000 ms\n</bash_metadata>",
        "epoch 1\n<bash_metadata>\nUser aborted the command\n</bash_metadata>",
        "epoch 1\n[The command timed out after 30.0 seconds. You may wait longer by sending an empty command.]\n"
        "[Current working directory: /work]",
        "epoch 1\n[Command timed out after 60s]",
        "Output: epoch 1\nSignal: SIGKILL\nProcess Group PGID: 12",
        "Command timed out after 2m 0.0s\nepoch 1",
        "The last command <command>python train.py</command> timed out and has been killed.\nThe output was:\nepoch 1",
        "Command was automatically cancelled because it exceeded the timeout of 5 minutes without output.",
        "第 1 轮\n[命令超时，已终止]",
    ],
)
def test_a_run_that_the_agent_ended_is_a_failure(result):
    assert not judge("bash", {"command": "python train.py"}, result).success


def test_the_names_of_other_agents_are_tools_that_run_programs():
    for tool in ("run_terminal_cmd", "run_in_terminal", "mcp__box__shell_execute", "python_interpreter"):
        assert judge(tool, {"command": "cat app.log"}, "2026-01-02 ERROR cannot reach the printer").success


RESPONSES = {
    '{"data": null, "errors": [{"message": "Field plum is unknown"}]}': False,
    '{"data": {"plums": []}}': True,
    '{"status": "FAIL", "message": "card expired"}': False,
    '{"status": "ERROR", "msg": "库存不足"}': False,
    '{"accepted": 0, "rejected": 12}': False,
    '{"accepted": 12, "rejected": 0}': True,
    '{"code": 403, "message": "not your shop"}': False,
    '{"code": 200, "message": "ok", "data": {"id": 1}}': True,
    '{"jsonrpc": "2.0", "id": 4, "error": {"code": -32601, "message": "Method not found"}}': False,
    '<?xml version="1.0"?>\n<s:Envelope>\n<s:Body>\n<s:Fault>\n<faultcode>s:Server</faultcode></s:Fault>': False,
    "<xml><return_code><![CDATA[FAIL]]></return_code></xml>": False,
    "<orders><order><status>open</status></order></orders>": True,
    "": True,
}


@pytest.mark.parametrize(
    "head",
    [
        "HTTP 200\n\n",
        "HTTP/1.1 200 OK\r\ncontent-type: x\r\n\r\n",
        "Status: 200 OK\n\n",
        "HTTP 200\n",
        "状态码：200\n\n",
    ],
)
@pytest.mark.parametrize("body", RESPONSES)
def test_the_body_below_a_status_of_200_is_read(head, body):
    call = {"method": "POST", "url": "https://shop.example.com/graphql", "json": {"mutation": "x"}}
    assert judge("web_fetch", call, head + body).success is RESPONSES[body]
    assert judge("http_request", call, head + body).success is RESPONSES[body]


@pytest.mark.parametrize(
    ("method", "result", "success"),
    [
        ("GET", "HTTP 404\n\nNo such plum", False),
        ("GET", "HTTP 302\n\n<a href='/login'>Found</a>", False),
        ("GET", "HTTP 304\n\n", True),
        ("POST", "HTTP 302\n\n", True),
        ("HEAD", "HTTP 503\n\n", True),
        ("GET", '<html><body><form><input type="password" name="p"></form></body></html>', False),
        ("GET", "<!doctype html><html><title>Plums</title><body>All about plums, in many words.</body></html>", False),
    ],
)
def test_a_request_needs_the_data_that_it_asked_for(method, result, success):
    call = {"method": method, "url": "https://shop.example.com/plums.json"}
    assert judge("http_get", call, result).success is success


COMMANDS = [
    ("psql -f seed.sql", 'BEGIN\npsql:seed.sql:9: ERROR:  relation "plum" does not exist\nROLLBACK', False),
    ("psql -f seed.sql", "BEGIN\nINSERT 0 4\nCOMMIT", True),
    ("sqlite3 a.db < seed.sql", "Parse error near line 3: no such table: plum", False),
    ("echo '1 +' | bc", "(standard_in) 1: syntax error", False),
    ("python load.py", "reading plums.csv\nimported 0 rows", False),
    ("python load.py", "imported: 0, skipped: 12", False),
    ("python load.py", "imported 12 rows, skipped 0", True),
    ("python load.py", "0 rows imported, everything is up to date", True),
    ("python load.py", "已导入 0 条，跳过 8 条", False),
    ("python load.py", "成功导入 8 条，失败 0 条", True),
    ("python send.py", "sent 2 of 5 letters", False),
    ("python send.py", "sent 2 of 5 letters\nWARN attempt 1 failed, retrying\nsent 5 of 5 letters", True),
    ("python send.py", "attempt 1 failed: timeout\nattempt 2 failed: timeout", False),
    ("python send.py", "attempt 1 failed: timeout\nattempt 2 ok", True),
    ("dd if=a of=b", "4096 bytes (4.1 kB, 4.0 KiB) copied, 0.0002 s, 20 MB/s", True),
    ('./plum | tee a.txt; echo "exit: ${PIPESTATUS[0]}"', "row 1\nexit: 134", False),
    ('./plum | tee a.txt; echo "exit: ${PIPESTATUS[0]}"', "row 1\nexit: 0", True),
    ('./server & P=$!; sleep 1; kill $P; wait $P; echo "ended with $?"', "ended with 143", True),
    ('which plum || echo "plum: not found"', "plum: not found", True),
    ('command -v plum >/dev/null || echo "plum is missing"', "plum is missing", True),
    ("make all || echo FAILED", "FAILED", False),
    ("pytest -k plum", "9 deselected in 0.10s", False),
    ("node --test", "# Error: no plum\nok 1 - reports an error\n# tests 1\n# pass 1\n# fail 0", True),
    ("cp a b", "cp: impossible d'évaluer 'a': Aucun fichier ou dossier de ce type", False),
    ("cp a b", "cp: Aufruf von stat für 'a' nicht möglich: Datei oder Verzeichnis nicht gefunden", False),
    ("curl -s https://shop.example.com/plums", "(no output)", False),
    ("curl -s https://shop.example.com/plums -o plums.json", "(no output)", True),
    ("curl -s -X DELETE https://shop.example.com/plums/1", "(no output)", True),
    ("curl -sI https://shop.example.com/plums", "HTTP/2 503\nserver: x", True),
    ("curl -s https://shop.example.com/plums.json", "<html><body>Welcome to the shop of plums</body></html>", False),
    ("git rebase main", "CONFLICT (content): Merge conflict in a.txt\nerror: could not apply 1a2b3c", False),
]


@pytest.mark.parametrize(("command", "output", "success"), COMMANDS)
def test_the_output_of_a_command_whose_exit_code_is_0_or_hidden(command, output, success):
    assert judge("Bash", {"command": command}, output).success is success
    if "no output" not in output:
        assert (
            judge("terminal", {"command": command}, json.dumps({"output": output, "exit_code": 0})).success is success
        )


@pytest.mark.parametrize(
    ("code", "output", "success"),
    [
        ("try:\n    f()\nexcept OSError:\n    pass\nprint(f'wrote {n} of 4 files')", "wrote 0 of 4 files", False),
        ("try:\n    f()\nexcept OSError:\n    pass\nprint(f'wrote {n} of 4 files')", "wrote 4 of 4 files", True),
        ("import sys\nsys.exit('no plums, stopping here')", "no plums, stopping here", False),
        ("try:\n    f()\nexcept KeyError:\n    traceback.print_exc()\nprint(len(rows))",
         'Traceback (most recent call last):\n  File "<string>", line 2, in <module>\nKeyError: 1\n12', True),
        ("f()", 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\nKeyError: 1', False),
    ],
)  # fmt: skip
def test_the_output_of_code(code, output, success):
    assert judge("python_interpreter", {"code": code}, output).success is success
    assert (
        judge("execute_ipython_cell", {"code": code}, f"{output}\n[Jupyter current working directory: /a]").success
        is success
    )


def test_half_of_the_files_missing_is_a_failure_and_one_of_three_is_not():
    read = "a.txt:\nplum\n\n---\nb.txt: Error - ENOENT: no such file or directory"
    blocks = json.dumps({"content": [{"type": "text", "text": read}]})
    assert not judge("mcp__files__read_multiple_files", {"paths": ["a.txt", "b.txt"]}, blocks).success
    assert judge("read_multiple_files", {"paths": ["a.txt", "b.txt", "c.txt"]}, read + "\n---\nc.txt:\npear").success


@pytest.mark.parametrize(
    ("page", "success"),
    [
        ("# We'll be back soon\nScheduled maintenance until noon.", False),
        ("This domain may be for sale.\nContact the owner", False),
        ("plums.example.com\nBuy this domain", False),
        ("Sorry, this video isn't available in your country.", False),
        ("该域名正在出售，请联系卖家", False),
        ("系统维护中，预计 6:00 恢复", False),
        ("# Plums\nPlums are back in the shops this week, after a long and rainy spring in the north.", True),
    ],
)
def test_a_notice_in_place_of_a_page(page, success):
    assert judge("fetch_page", {"url": "https://www.example.org/plums"}, page).success is success


@pytest.mark.parametrize("unit", ["1/2 ", "\n", "[command ", "exit code ", "<input ", "HTTP 200\n", "0 rows ", "a:1: "])
def test_a_hostile_result_of_a_megabyte_takes_no_time(unit):
    began = time.process_time()
    for tool, arguments in (
        ("bash", {"command": "curl -s x"}),
        ("http_request", {"url": "x"}),
        ("bash", {"command": "make"}),
    ):
        judge(tool, arguments, unit * (1_000_000 // len(unit)) + "x")
    assert time.process_time() - began < 2
