"""Signs that something went wrong, in English and Chinese, where programs put them: at the start of a line.

Prose may speak of errors as it likes; a sign is a line that a program writes when it fails.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_ENGLISH = (
    r"Traceback \(most recent call last\)",
    r"(?:[\w.]+\.)?(?:[A-Z]\w*(?:Error|Exception)|SystemExit|KeyboardInterrupt)(?:: |$)",
    r"(?i:(?:fatal )?error|fatal|panic|abort(?:ed)?|failure|exception)(?:\[\w+\])?: ",
    r"(?i:npm err(?:or|!)) ",
    r"[^\s:]+:\d+(?::\d+)?: (?:fatal )?error:",
    r"make(?:\[\d+\])?: \*\*\*",
    r"(?:curl: \(\d+\)|wget: |ssh: |rsync error)",
    r"(?i:permission|access) denied\b",
    r"(?i:failed|unable|could not|cannot|can't) (?:to )?\w+",
    r"(?:FAILED|FAIL)\b(?!\w)",
    r"(?i:segmentation fault|killed$|out of memory|bus error)",
    r".{0,40}\b(?i:error) (?:fetching|reading|writing|loading|while|in|during)\b",
    r"(?i:request|search|command|operation|build|script|verification|connection|download|upload) (?:has )?"
    r"(?i:failed|timed out)",
)
_ANYWHERE = (
    r": (?:command )?not found$",
    r": (?:No such file or directory|Permission denied|Operation not permitted|(?:Not|Is) a directory|File exists)\b",
    r"\((?:core dumped|os error \d+)\)",
    r"(?<![\w.,])[1-9]\d* (?:failed|failing|errors?)(?=[\s,;.)]|$)",
    r"\b(?:errors|failures)=[1-9]",
    r"^[\w./-]+ (?:verification )?failed: ",
    r"^! \[rejected\]",
)
_CHINESE = (
    r"(?:严重)?(?:错误|致命错误|异常|失败)\s*[：:]",
    r"[^\s：:，。]{0,12}(?:失败|出错)\s*[：:，!！]",
    r"[^\n]{0,80}[:：]\s*(?:未找到命令|没有那个文件或目录|权限不够|权限不足|只读文件系统)",
    r"(?:无法|不能|未能|找不到|未找到)",
    r"[^\n]{0,30}(?:无法(?:访问|创建|打开|解析|连接|推送|写入|读取)|未找到命令|没有那个文件或目录)",
)
_LINE = re.compile("|".join([*(rf"^\s{{0,8}}(?:{one})" for one in (*_ENGLISH, *_CHINESE)), *_ANYWHERE]), re.MULTILINE)
# What a shell or a reading program says itself when it cannot do its work.
_COMPLAINT = re.compile(
    r"^(?:[\w./-]+: )+(?:line \d+: |行 \d+: )?.{0,200}"
    r"(?:not found|No such file or directory|Permission denied|Is a directory|未找到命令|没有那个文件或目录|权限不够)",
    re.MULTILINE,
)
_FINE = re.compile(r"(?i:no|0|zero) (?:errors?|failures?)|没有(?:错误|失败)|失败\s*[：:]?\s*0\b|错误\s*[：:]?\s*0\b")
# The first words of an answer that is nothing but a refusal or a failure.
_REFUSAL = re.compile(
    r"\s*(?:<tool_use_error>|\[?tool (?:call|use) was (?:interrupted|rejected|cancelled)"
    r"|the user (?:doesn't want|denied|rejected)|blocked\b|denied\b|rejected\b|not (?:allowed|permitted)\b"
    r"|(?:permission|approval) (?:denied|required)"
    r"|(?:file|path|directory|url|page|resource) (?:does not exist|not found|is missing)"
    r"|(?:[\w-]+ ){0,3}(?:failed|refused|timed out)(?: with|:|$)|interrupted\b|cancelled\b|timed? ?out\b"
    r"|(?:用户)?(?:拒绝|已取消|被拒绝|禁止访问)|[^\s：:]{0,12}不存在|[^\s：:]{0,12}超时)",
    re.IGNORECASE,
)
# The title of a page that stands where another one should be.
_ERROR_PAGE = re.compile(
    r"\s*(?:(?:error )?[45]\d\d\b|not found|page not found|forbidden|access denied|bad gateway|service unavailable"
    r"|internal server error|just a moment|attention required|页面不存在|找不到页面|无法访问|禁止访问|服务器错误)",
    re.IGNORECASE,
)
_TITLE = re.compile(r"<title[^>]*>([^<]{0,200})</title>", re.IGNORECASE)
_STATUS_LINE = re.compile(r"^HTTP/\d(?:\.\d)? (\d{3})", re.MULTILINE)
LOOKED_AT = 1_200  # characters from each end: a failure is told first or last
# What a failing line holds, in lower case. Looking for these first spares most texts the patterns.
_HINTS = (
    "rror", "fail", "traceback", "xception", "systemexit", "keyboardint", "fatal", "panic", "abort", "npm err", ": ***",
    "curl: (", "wget: ", "ssh: ", "denied", "unable", "could not", "cannot", "can't", "segmentation", "killed",
    "out of mem", "timed out", "not found", "no such", "not permitted", "a directory", "file exists", "(core",
    "[reject",
)  # fmt: skip
_CHINESE_HINTS = (
    "错误", "异常", "失败", "出错", "未找到", "没有那", "权限不", "只读", "无法", "不能", "未能", "找不到",
)  # fmt: skip
_COMPLAINTS = ("not found", "No such file", "Permission den", "Is a direc")
_CHINESE_COMPLAINTS = ("未找到命令", "没有那个文件", "权限不够")


def ends(text: str) -> str:
    """The beginning and the end of a long text."""
    return text if len(text) <= 2 * LOOKED_AT else f"{text[:LOOKED_AT]}\n{text[-LOOKED_AT:]}"


def failing_line(text: str) -> str:
    """The first line a failing program would write; empty when there is none."""
    looked_at = ends(text)
    folded = looked_at.lower()
    hints = [hint for hint in _HINTS if hint in folded]
    if not looked_at.isascii():
        hints += [hint for hint in _CHINESE_HINTS if hint in folded]
    if not hints:
        return ""
    for line in _lines_with(hints, looked_at, folded):
        if _LINE.search(line) and not _FINE.search(line):
            return line.strip()[:200]
    return ""


def _lines_with(hints: Sequence[str], text: str, folded: str) -> list[str]:
    """The lines that hold a hint, in order."""
    if len(folded) != len(text):  # a letter changed its length
        return text.split("\n")
    starts: set[int] = set()
    for hint in hints:
        at = folded.find(hint)
        while at >= 0:
            starts.add(folded.rfind("\n", 0, at) + 1)
            after = folded.find("\n", at)
            at = folded.find(hint, after) if after >= 0 else -1
    return [text[at : end if (end := text.find("\n", at)) >= 0 else None] for at in sorted(starts)]


def complaint(text: str) -> str:
    """The line in which a shell or a reading program says that it cannot."""
    looked_at = ends(text)
    words = _COMPLAINTS if looked_at.isascii() else _COMPLAINTS + _CHINESE_COMPLAINTS
    hit = _COMPLAINT.search(looked_at) if any(word in looked_at for word in words) else None
    return _line_at(hit) if hit else ""


def refusal(text: str) -> str:
    """The first line, if the answer opens as a refusal."""
    return text.strip().partition("\n")[0][:200] if _REFUSAL.match(text) else ""


def error_page(title: str) -> bool:
    return bool(_ERROR_PAGE.match(title))


def page_title(html: str) -> str:
    hit = _TITLE.search(html[:LOOKED_AT])
    return hit[1].strip() if hit else ""


def status_line(text: str) -> int:
    """The last HTTP status in a text (after redirects); 0 when there is none."""
    found = _STATUS_LINE.findall(text[:LOOKED_AT])
    return int(found[-1]) if found else 0


def _line_at(hit: re.Match[str]) -> str:
    start = hit.string.rfind("\n", 0, hit.end()) + 1 if "\n" not in hit[0] else hit.start()
    end = hit.string.find("\n", max(start, hit.start()))
    return hit.string[start : end if end >= 0 else None].strip()[:200]
