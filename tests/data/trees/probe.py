"""Tries whatever a script must not do. Each attempt says True when it got through; what raises was stopped.

It runs without a sandbox too, to show that each can get through, as root perhaps: then nothing but what belongs to
range.py may be changed, not even for a moment, and nothing that could belong to somebody on the machine be named."""
import ctypes
import fcntl
import json
import os
import signal
import socket
import stat
import sys

HOME, OTHER, READABLE = (os.environ[name] for name in ("PROBE_HOME", "PROBE_OTHER", "PROBE_READABLE"))
PREFIX, DEVICE = os.environ["PROBE_PREFIX"], os.environ["PROBE_DEVICE"]  # stand-ins, where there is no sandbox
TCP, UDP, HARNESS = (int(os.environ[name]) for name in ("PROBE_TCP", "PROBE_UDP", "PROBE_HARNESS"))
ABSTRACT, PATHNAME = "\0" + os.environ["PROBE_ABSTRACT"], os.environ["PROBE_PATHNAME"]
libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    found = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if found < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return True


def reads(path):
    return lambda: open(path, "rb").read(1) is not None


def datagram(address, family):
    def attempt():
        with socket.socket(family, socket.SOCK_DGRAM) as opened:
            return opened.sendto(b"hello", address) > 0
    return attempt


def stream(address, family):
    def attempt():
        with socket.socket(family, socket.SOCK_STREAM) as opened:
            opened.settimeout(3)
            opened.connect(address)
            return True
    return attempt


def pair_sends(address):
    def attempt():
        one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        return one.sendto(b"hello", address) > 0
    return attempt


def pair_messages(address):
    def attempt():
        one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return one.sendmsg([b"hello"], [], 0, address) > 0
    return attempt


def child(act):
    """What an attempt that would change this process comes to in a child."""
    def attempt():
        process = os.fork()
        if process == 0:
            try:
                os._exit(0 if act() else 1)
            except BaseException:
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    return attempt


def capabilities():
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    held = (ctypes.c_uint32 * 6)()
    libc.capget(ctypes.byref(header), ctypes.byref(held))
    return any(held)


def descriptors():
    return bool([fd for fd in range(3, 1024) if _is_open(fd) and fd != int(os.environ["EVOLVE_RESULT_FD"])])


def _is_open(fd):
    try:
        os.fstat(fd)
        return True
    except OSError:
        return False


def shared_anonymous():
    import mmap
    mmap.mmap(-1, 4096)
    return True


def writes(path):
    return lambda: open(path, "w").write("x") > 0


def makes(path):
    return lambda: open(path, "x").write("x") > 0 and os.unlink(path) is None


INHERITED = descriptors()  # before anything else is opened
INIT = os.getppid()
CANARY = f"{OTHER}/canary"
x86 = os.uname().machine == "x86_64"
ATTEMPTS = {
    "read the home folder": reads(f"{HOME}/secret"),
    "list the home folder": lambda: os.listdir(HOME) is not None,
    "read another run": reads(CANARY),
    "list another run": lambda: os.listdir(OTHER) is not None,
    "list the root": lambda: os.listdir("/") is not None,
    "read passwords": reads("/etc/passwd"),
    "write into another run": writes(f"{OTHER}/new"),
    "overwrite another run": writes(CANARY),
    "truncate another run": lambda: os.truncate(CANARY, 0) is None,
    "delete in another run": lambda: os.unlink(f"{OTHER}/victim") is None,
    "make a folder in another run": lambda: os.mkdir(f"{OTHER}/folder") is None,
    "link into another run": lambda: os.symlink("/", f"{OTHER}/link") is None,
    "link another run to here": lambda: os.link(CANARY, "canary") is None and open("canary").read() is not None,
    "write next to the program": writes(f"{READABLE}/new"),
    "overwrite the program": writes(f"{READABLE}/file"),
    "chmod the program": lambda: os.chmod(f"{READABLE}/file", 0o777) is None,
    "chmod another run": lambda: os.chmod(CANARY, 0o777) is None,
    "chmod through a descriptor": lambda: os.fchmod(os.open(f"{READABLE}/file", os.O_RDONLY), 0o777) is None,
    "chown the program": lambda: os.chown(f"{READABLE}/file", os.getuid(), -1) is None,
    "chmod a device": lambda: os.chmod(DEVICE, stat.S_IMODE(os.stat(DEVICE).st_mode)) is None,
    "watch another run": lambda: libc.inotify_add_watch(libc.inotify_init1(0), OTHER.encode(), 0x20) > 0,
    "utime the program": lambda: os.utime(f"{READABLE}/file", (1, 1)) is None,
    "flags of the program": lambda: fcntl.ioctl(
        os.open(f"{READABLE}/file", os.O_RDONLY), 0x40086602, b"\0" * 8) is not None,
    "lease on the program": lambda: fcntl.fcntl(os.open(f"{READABLE}/file", os.O_RDONLY), 1024, 0) is not None,
    "write into the interpreter": makes(f"{PREFIX}/probe-canary"),
    "the environment of the harness": reads(f"/proc/{HARNESS}/environ"),
    "the environment of tree_init": reads(f"/proc/{INIT}/environ"),
    "a secret in the environment": lambda: "EVOLVE_PROBE_SECRET" in os.environ,
    "list /proc": lambda: bool(os.listdir("/proc")),
    "read /proc": reads("/proc/self/status"),
    "write /proc": writes("/proc/self/oom_score_adj"),
    "read /sys": lambda: bool(os.listdir("/sys")),
    "list /dev": lambda: bool(os.listdir("/dev")),
    "shared memory of the host": reads("/dev/shm/" + os.path.basename(OTHER)),
    "signal the harness": lambda: os.kill(HARNESS, 0) is None,
    "signal tree_init": lambda: os.kill(INIT, 0) is None,
    "limits of the harness": lambda: call(302 if x86 else 261, HARNESS, 7, 0, ctypes.create_string_buffer(16)),
    "affinity of tree_init": lambda: call(203 if x86 else 122, INIT, 8, ctypes.create_string_buffer(b"\xff" * 8)),
    "priority of tree_init": lambda: os.setpriority(os.PRIO_PROCESS, INIT, os.nice(0) + 1) is None,  # tests may be niced
    # As a user's number this is 4294954951, which no system gives to anybody.
    "priority of a user": lambda: _errno(lambda: os.setpriority(os.PRIO_USER, -12345, 0)) not in (1, 13),
    "connect by TCP": stream(("127.0.0.1", TCP), socket.AF_INET),
    "listen by TCP": lambda: socket.create_server(("127.0.0.1", 0)) is not None,
    "send by UDP": datagram(("127.0.0.1", UDP), socket.AF_INET),
    "IPv6": lambda: socket.socket(socket.AF_INET6) is not None,
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) is not None,
    "vsock": lambda: socket.socket(40, socket.SOCK_STREAM) is not None,
    "abstract socket": datagram(ABSTRACT, socket.AF_UNIX),
    "abstract socket through a pair": pair_sends(ABSTRACT),
    "pathname socket": datagram(PATHNAME, socket.AF_UNIX),
    "pathname socket through a pair": pair_sends(PATHNAME),
    "ptrace another": lambda: _errno(lambda: call(101 if x86 else 117, 16, 2**30, 0, 0)) != 1,
    "ptrace oneself": child(lambda: call(101 if x86 else 117, 0, 0, 0, 0)),
    "read the parent's memory": lambda: call(310 if x86 else 270, INIT, 0, 0, 0, 0, 0),
    "io_uring": lambda: call(425, 4, ctypes.create_string_buffer(120)),
    "userfaultfd": lambda: call(323 if x86 else 282, 1),
    "a new user namespace": child(lambda: call(272 if x86 else 97, 0x10000000)),
    "a clone in a user namespace": lambda: _cloned(0x10000000 | 17),
    "clone3": lambda: _errno(lambda: call(435, 0, 0)) != 38,
    "a mount": lambda: _errno(lambda: call(165 if x86 else 40, 0, 0, 0, 0, 0)) != 1,
    "a performance counter": lambda: call(298 if x86 else 241, _perf(), 0, -1, -1, 0),
    "a key": lambda: call(248 if x86 else 217, b"user", b"evolve-probe", b"x", 1, -1),
    "a memory file": lambda: os.memfd_create("probe") > 0,
    "System V memory": lambda: _removed(libc.shmget(0, 4096, 0o1600)),
    "memory of nobody": shared_anonymous,
    "a futex of the harness": lambda: _errno(_lock_of_the_harness) != 38,
    "another seccomp filter": lambda: libc.prctl(22, 99, 0, 0, 0) == -1 and ctypes.get_errno() == 22,
    "hide from tree_init": child(lambda: libc.prctl(4, 0, 0, 0, 0) == 0),
    "personality": lambda: call(135 if x86 else 92, 0xFFFFFFFF),
    "capabilities": capabilities,
    "capabilities after exec": child(lambda: os.execv(sys.executable, [sys.executable, "-c", (
        "import ctypes; h=(ctypes.c_uint32*2)(0x20080522,0); d=(ctypes.c_uint32*6)();"
        "ctypes.CDLL(None).capget(ctypes.byref(h),ctypes.byref(d)); raise SystemExit(0 if any(d) else 1)")])),
    "become another user": child(lambda: os.setuid(12346) is None),
    "inherited descriptors": lambda: INHERITED,
    "a handle of a file": lambda: _errno(lambda: call(304 if x86 else 265, 0, 0, 0)) != 1,
    "kernel log": lambda: call(103 if x86 else 116, 10, 0, 0),
}


def _errno(act):
    try:
        act()
    except OSError as refusal:
        return refusal.errno
    return 0


def _cloned(flags):
    process = libc.syscall(ctypes.c_long(56 if x86 else 220), ctypes.c_long(flags), 0, 0, 0, 0)
    if process == 0:
        os._exit(0)
    return process > 0 and os.waitpid(process, 0)[0] == process


def _lock_of_the_harness():
    word, at_once = ctypes.c_uint32(HARNESS), (ctypes.c_long * 2)()
    return call(202 if x86 else 98, ctypes.byref(word), 6 | 128, 0, ctypes.byref(at_once), 0, 0)


def _removed(key):
    if key < 0:
        raise OSError(ctypes.get_errno(), "refused")
    libc.shmctl(key, 0, None)
    return True


def _perf():
    attributes = ctypes.create_string_buffer(112)
    attributes[0:4] = (1).to_bytes(4, "little")
    attributes[4:8] = (112).to_bytes(4, "little")
    return attributes


def main():
    found = {}
    for name, attempt in ATTEMPTS.items():
        try:
            found[name] = bool(attempt())
        except (OSError, ValueError, AttributeError, OverflowError, socket.timeout):
            found[name] = False
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL) if os.environ["PROBE_LEVEL"] != "none" else ():
        try:
            os.kill(INIT, number)
        except OSError:
            pass
    with open(sys.argv[1], "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
